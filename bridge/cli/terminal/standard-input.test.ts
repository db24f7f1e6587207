import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'

const folder = mkdtempSync(join(tmpdir(), 'drawbridge-stdin-'))
afterAll(() => rmSync(folder, { recursive: true }))
const file = join(folder, 'input')
const text = Array.from({ length: 300_000 }, (_unused, index) => `line ${index}\n`).join('')
writeFileSync(file, text)

/** Listens late, pauses after each piece for a moment, and prints what it got when that has ended. */
const reader = join(folder, 'reader.ts')
writeFileSync(
  reader,
  `
  const { openStandardInput } = await import(${JSON.stringify(new URL('./standard-input.ts', import.meta.url).href)})
  const input = openStandardInput()
  const pieces = []
  await new Promise((resolve) => setTimeout(resolve, 50))
  input.on('data', (piece) => {
    pieces.push(piece)
    input.pause()
    setImmediate(() => input.resume())
  })
  input.on('end', () => process.stdout.write(Buffer.concat(pieces)))
  `,
)

describe('stdin', () => {
  it.each([
    ['a pipe', `cat '${file}' | "$0" "$1"`, text],
    ['a pipe that ends before anybody reads', `printf word | "$0" "$1"`, 'word'],
    ['a file', `"$0" "$1" < '${file}'`, text],
    ['nothing', `"$0" "$1" < /dev/null`, ''],
    ['closed', `"$0" "$1" <&-`, ''],
  ])('is read whole when it is %s', async (_kind, command, expected) => {
    expect((await run('sh', ['-c', command, process.execPath, reader])) === expected).toBe(true)
  })

  it('is read whole when it is a socket', async () => {
    expect((await run(process.execPath, [reader], text)) === text).toBe(true)
  })
})

/** What that command prints; with `input` its stdin is a socket. */
async function run(command: string, argv: readonly string[], input?: string): Promise<string> {
  const child = spawn(command, argv, { stdio: [input === undefined ? 'ignore' : 'pipe', 'pipe', 'inherit'] })
  child.stdin?.end(input)
  let printed = ''
  child.stdout?.setEncoding('utf8').on('data', (chunk: string) => (printed += chunk))
  await once(child, 'close')
  return printed
}
