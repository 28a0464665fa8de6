package io.github.kinesisspark.aws;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;

/**
 * Decodes base64 by pairs of characters, four of which are read at once: much of fan-out's CPU goes here. In Java, because a
 * {@link VarHandle}, which checks bounds, is quick as a static constant alone, and Scala has none.
 */
final class Base64Pairs {
  private static final VarHandle EIGHT_BYTES =
      MethodHandles.byteArrayViewVarHandle(long[].class, ByteOrder.BIG_ENDIAN);

  /** By two characters: their twelve bits, or a negative number. Of its 128 KiB, the characters of base64 touch some 12. */
  private static final short[] CODES = codes();

  private Base64Pairs() {}

  /** The twelve bits of two characters; negative where one of them is none of base64's. */
  static int code(byte one, byte two) {
    return CODES[(one & 0xff) << 8 | (two & 0xff)];
  }

  /** Where the text ends that goes on at a place: at the next quote, or else where its bytes end. */
  static int endOfText(byte[] text, int at, int until) {
    int place = at;
    while (place <= until - 8 && !hasQuote((long) EIGHT_BYTES.get(text, place))) place += 8;
    while (place < until && text[place] != '"') place++;
    return place;
  }

  /** Whether one of eight bytes is a quote: only a zero borrows from its own highest bit. */
  private static boolean hasQuote(long eight) {
    final long others = eight ^ 0x2222222222222222L;
    return ((others - 0x0101010101010101L) & ~others & 0x8080808080808080L) != 0;
  }

  /**
   * Decodes eight characters at a time, as long as all of them are base64's, and both arrays have eight bytes more.
   *
   * @param at the first character
   * @param until behind the last one
   * @param next where the first byte goes
   * @return where the bytes end; six of them come from eight characters, and what lies behind them is overwritten
   */
  static int decode(byte[] text, int at, int until, byte[] to, int next) {
    final short[] codes = CODES;
    boolean isValid = true;
    while (isValid && at <= until - 8 && next <= to.length - 8) {
      final long eight = (long) EIGHT_BYTES.get(text, at);
      final int one = codes[(int) (eight >>> 48)];
      final int two = codes[(int) (eight >>> 32) & 0xffff];
      final int three = codes[(int) (eight >>> 16) & 0xffff];
      final int four = codes[(int) eight & 0xffff];
      isValid = (one | two | three | four) >= 0;
      if (isValid) {
        EIGHT_BYTES.set(to, next, ((long) (one << 12 | two) << 24 | (three << 12 | four)) << 16);
        at += 8;
        next += 6;
      }
    }
    return next;
  }

  private static short[] codes() {
    final byte[] characters =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".getBytes(StandardCharsets.ISO_8859_1);
    final short[] codes = new short[1 << 16];
    Arrays.fill(codes, (short) -1);
    for (int one = 0; one < characters.length; one++)
      for (int two = 0; two < characters.length; two++)
        codes[characters[one] << 8 | characters[two]] = (short) (one << 6 | two);
    return codes;
  }
}
