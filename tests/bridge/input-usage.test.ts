import { describe, expect, it } from 'vitest'
import { freePort } from '../support/server/free-port.ts'
import { staged } from '../support/bridge/process/stage.ts'

const url = 'https://mcp.example.com/mcp'

/** What is wrong on a command line, and what has to be said about it. */
const faults: readonly [words: readonly string[], said: RegExp][] = [
  [[url, '--transprot', 'sse-only'], /--transprot: there is no such flag\. Did you mean --transport\?/],
  [[url, '--ca', '/nowhere/ca.pem'], /--ca.*ENOENT/],
  [['localhost:8787/mcp'], /Did you mean http:\/\/localhost:8787\/mcp\?/],
  [['https://me:hunter2@mcp.example.com/mcp'], /--header-file/],
  [['--allow-http'], /URL of the server is missing/],
  [['lgoin', url], /lgoin: there is no such command\. Did you mean login\?/],
  [['login', url, '--forse'], /--force/],
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
    'is told with everything that is wrong at once',
    staged(async (stage) => {
      stage.file('.drawbridge/config.json', JSON.stringify({ tranport: 'sse-only', retry: 'never' }))
      const { code, stderr } = await stage.command(['mcp.example.com', '--zzz', '--header', 'no colon'])
      expect(code).toBe(2)
      for (const said of ['mcp.example.com', '--zzz', '--header', 'Did you mean transport?', 'retry']) {
        expect(stderr).toContain(said)
      }
    }),
  )

  it.each([
    ['{', /config\.json: is not valid JSON, line 1/],
    ['{"token":"abcsecret"}', /token/],
  ])('in its configuration file, %s: the file is named', (content, said) =>
    staged(async (stage) => {
      stage.file('.drawbridge/config.json', content)
      const { code, stderr } = await stage.command([url])
      expect(code).toBe(2)
      expect(stderr).toMatch(said)
      expect(stderr).not.toContain('abcsecret')
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

  it(
    'in a variable of ours is only warned of, for the environment is somebody else’s',
    staged(async (stage) => {
      const remote = await stage.remote()
      const bridge = stage.bridge(remote.url, { environment: { DRAWBRIDGE_TRANSPROT: 'sse-only' } })
      expect(await bridge.initialize()).toHaveProperty('result')
      expect(bridge.stderr()).toContain('Did you mean DRAWBRIDGE_TRANSPORT?')
    }),
  )
})

describe.concurrent('exit codes', () => {
  it.each([
    [['--help'], 0, /Usage|drawbridge <url>/],
    [['--version'], 0, /^\d+\.\d+\.\d+\n$/],
    [['login', '--help'], 0, /login/],
  ])('%j: %i', (words, expected, printed) =>
    staged(async (stage) => {
      const { code, stdout, stderr } = await stage.command(words)
      expect({ code, stderr }).toEqual({ code: expected, stderr: '' })
      expect(stdout).toMatch(printed)
    })(),
  )

  it(
    'nothing at all: usage, and nothing on stdout, which may belong to a client',
    staged(async (stage) => {
      const { code, stdout, stderr } = await stage.command([])
      expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
      expect(stderr).toContain('drawbridge https://mcp.example.com/mcp')
    }),
  )

  it.each([
    ['login', ['--no-open', '--store', 'file']],
    ['doctor', []],
  ])('%s at a server that is not there: 4', (command, flags) =>
    staged(async (stage) => {
      const gone = `http://127.0.0.1:${await freePort()}/mcp`
      const { code, stdout, stderr } = await stage.command([command, gone, ...flags])
      expect(code).toBe(4)
      expect(stdout + stderr).toContain('refused')
      expect(stdout + stderr).toMatch(/Start the server, or correct the port/)
    })(),
  )

  it.each([
    ['status', []],
    ['token', []],
  ])('%s without a login: 3, and how to sign in', (command, flags) =>
    staged(async (stage) => {
      const { code, stdout, stderr } = await stage.command([command, url, '--store', 'file', ...flags])
      expect(code).toBe(3)
      expect(stdout + stderr).toContain('drawbridge login')
    })(),
  )

  it(
    '--json says the same to programs',
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
