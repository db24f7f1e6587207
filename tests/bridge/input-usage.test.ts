import { describe, expect, it } from 'vitest'
import { freePort } from '../support/server/free-port.ts'
import { staged } from '../support/bridge/process/stage.ts'

const url = 'https://mcp.example.com/mcp'

/** What is wrong on a command line, and what has to be said about it. */
const faults: readonly [words: readonly string[], said: RegExp][] = [
  [['https://me:hunter2@mcp.example.com/mcp'], /--header-file/],
  [['lgoin', url], /lgoin: there is no such command\. Did you mean login\?/],
]

describe.concurrent('a command line that is wrong', () => {
  it.each(faults)(
    '%j: exit code 2, a sentence and the next step on stderr, nothing on stdout',
    (words, said) =>
      staged(async (stage) => {
        const { code, stdout, stderr } = await stage.command(words)
        expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
        expect(stderr).toMatch(said)
        expect(stderr).not.toMatch(/hunter2|\n\s+at /)
        expect(stderr.trimEnd().split('\n').at(-1)).toMatch(/drawbridge.* --help$/)
      })(),
  )

  it(
    'is looked for in files with a byte order mark too, which is no fault by itself',
    staged(async (stage) => {
      stage.file('.drawbridge/config.json', '\uFEFF{"retry":"never"}')
      const headers = stage.file('headers', '\uFEFFX-One: 1\n')
      const client = stage.file('client.json', '\uFEFF{"client_id":"one"}')
      const { code, stderr } = await stage.command([
        url,
        '--header-file',
        headers,
        '--static-oauth-client-info',
        `@${client}`,
      ])
      expect(code).toBe(2)
      expect(stderr.match(/expected/g)).toHaveLength(1)
      expect(stderr).toMatch(/retry of .*config\.json: expected/)
    }),
  )
})

describe.concurrent('an exit code', () => {
  it(
    'and --json say to programs that a server is not there',
    staged(async (stage) => {
      const gone = `http://127.0.0.1:${await freePort()}/mcp`
      const { code, stdout } = await stage.command(['login', gone, '--no-open', '--store', 'file', '--json'])
      expect(code).toBe(4)
      expect(JSON.parse(stdout)).toMatchObject({
        ok: false,
        code: 'network_refused',
        next_step: expect.any(String) as string,
      })
    }),
  )
})
