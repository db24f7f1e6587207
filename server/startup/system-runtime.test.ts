import { execFile } from 'node:child_process'
import { globSync, readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { describe, expect, it, onTestFinished, test } from 'vitest'
import { systemRuntime } from './system-runtime.ts'

const run = promisify(execFile)
const folder = fileURLToPath(new URL('..', import.meta.url))
const program = fileURLToPath(new URL('../../tests/support/server/mcp/stalled-calls.ts', import.meta.url))

describe('a time-out', () => {
  test.each([
    ['never answers', 'headers'],
    ['never ends its answer', 'body'],
  ])('a time-out ends a call to a server that %s, even after a garbage collection', async (_what, phase) => {
    const { stdout } = await run(process.execPath, ['--expose-gc', program, phase])
    expect(JSON.parse(stdout)).toEqual([
      'an OpenID provider',
      'the auth API',
      'the doctor',
      'the key set',
      'the web app',
    ])
  })

  test.each([
    [200, 'text'],
    [204, ''],
    [302, 'text'],
    [304, ''],
    [404, 'text'],
    [500, ''],
  ])('a time-out leaves an answer of %i and %j unchanged', async (status, body) => {
    const server = createServer((_request, response) => {
      response.writeHead(status, { 'x-answer': 'yes', location: '/elsewhere' }).end(body)
    })
    await new Promise<void>((resolve) => {
      server.listen(0, '127.0.0.1', resolve)
    })
    onTestFinished(() => void server.close())
    const { port } = server.address() as AddressInfo
    const request = new Request(`http://127.0.0.1:${port}`, { redirect: 'manual' })
    const answer = await systemRuntime.fetch(request, { signal: AbortSignal.timeout(10_000) })
    expect([answer.status, answer.headers.get('x-answer'), await answer.text()]).toEqual([
      status,
      'yes',
      body,
    ])
  })

  it('a time-out is given to fetch, and never put into a request', () => {
    const sources = globSync('**/*.ts', {
      cwd: folder,
      exclude: ['dist/**', 'node_modules/**', '**/*.test.ts'],
    })
    const faulty = sources.filter((path) =>
      argumentsOf('new Request(', readFileSync(folder + path, 'utf8')).some((text) =>
        /\bsignal\b/.test(text),
      ),
    )
    expect(sources.length).toBeGreaterThan(100)
    expect(faulty).toEqual([])
  })
})

/** Returns the text between each `opening` in `text` and its closing parenthesis. */
function argumentsOf(opening: string, text: string): string[] {
  return text.split(opening).slice(1).map(untilClosed)
}

function untilClosed(text: string): string {
  let depth = 1
  for (const { 0: parenthesis, index } of text.matchAll(/[()]/g)) {
    depth += parenthesis === '(' ? 1 : -1
    if (depth === 0) return text.slice(0, index)
  }
  return text
}

test.each([1, 12, 32, 4000, 5000])('random bytes: %i of them are drawn once and are not zeros', (length) => {
  const texts = new Set<string>()
  const values = new Set<number>()
  for (let draw = 0; draw < 300; draw += 1) {
    const bytes = systemRuntime.randomBytes(length)
    expect(bytes).toHaveLength(length)
    texts.add(Buffer.from(bytes).toString('hex'))
    for (const value of bytes) values.add(value)
  }
  expect(texts.size).toBeGreaterThan(length === 1 ? 100 : 299)
  expect(values.size).toBeGreaterThan(150)
})
