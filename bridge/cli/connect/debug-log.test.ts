import { readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { beforeEach, describe, expect, it } from 'vitest'
import { createDebugLog, redact } from './debug-log.ts'
import { temporaryFolder } from '../../../tests/support/temporary-folder.ts'

it.each([
  ['Authorization: Bearer abc.def-1', 'Authorization: Bearer [redacted]'],
  ['got eyJhbGciOi.eyJzdWIi.c2ln back', 'got [redacted] back'],
  ['https://a/cb?code=abc&state=def&x=1', 'https://a/cb?code=[redacted]&state=[redacted]&x=1'],
  ['{"refresh_token":"abc def","n":1}', '{"refresh_token":[redacted],"n":1}'],
  ['client_secret: abc', 'client_secret: [redacted]'],
  ['proxy http://me:pass@proxy:1/', 'proxy http://[redacted]@proxy:1/'],
  ['401 from https://mcp.example.com, sign-in needed', '401 from https://mcp.example.com, sign-in needed'],
])('a redacted line shows %s as %s', (text, expected) => {
  expect(redact(text, [])).toBe(expected)
})

it('a redacted line contains no known secret', () => {
  expect(redact('a hunter22 b hunter22', ['hunter22'])).toBe('a [redacted] b [redacted]')
  expect(redact('abc', ['', 'b'])).toBe('abc')
})

describe('the debug log', () => {
  let folder: string
  beforeEach(() => void (folder = temporaryFolder()))

  it('the debug log has one line per note, readable only to its owner', () => {
    const path = join(folder, 'logs', 'a.log')
    const log = createDebugLog(path, [])
    log.note('one\ntwo')
    log.note('three')
    const lines = readFileSync(path, 'utf8').trimEnd().split('\n')
    expect(lines).toHaveLength(2)
    expect(lines[0]).toMatch(/^\d{4}-\d\d-\d\dT[\d:.]+Z \d+ one two$/)
    expect(statSync(path).mode & 0o777).toBe(0o600)
    expect(statSync(join(folder, 'logs')).mode & 0o777).toBe(0o700)
  })

  it('the debug log is redacted in every line', () => {
    const path = join(folder, 'a.log')
    createDebugLog(path, ['hunter22']).note('sent Bearer abc.def with hunter22')
    expect(readFileSync(path, 'utf8')).toMatch(/ sent Bearer \[redacted\] with \[redacted\]\n$/)
  })

  it('the debug log is renamed when it is large, and replaces the previous one', () => {
    const path = join(folder, 'a.log')
    const log = createDebugLog(path, [])
    for (let count = 0; count < 25; count += 1) log.note('x'.repeat(100_000))
    expect(statSync(path).size).toBeLessThan(1_000_001)
    expect(statSync(`${path}.1`).size).toBeGreaterThan(800_000)
    expect(statSync(`${path}.1`).mode & 0o777).toBe(0o600)
  })

  it('a debug log that cannot be written does not end the connection', () => {
    const log = createDebugLog('/dev/null/nowhere/a.log', [])
    expect(() => log.note('x')).not.toThrow()
  })
})
