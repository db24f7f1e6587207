import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, type Server } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, describe, expect, it } from 'vitest'
import { freePort } from '../support/server/free-port.ts'
import { runAlone } from './command-process.ts'

let occupant: Server | undefined
afterEach(() => {
  occupant?.close()
  occupant = undefined
})

async function occupyPort(): Promise<number> {
  const port = await freePort()
  occupant = createServer()
  await new Promise<void>((resolve) => occupant?.listen(port, '127.0.0.1', resolve))
  return port
}

describe('drawbridge-server', () => {
  it('--help has usage, every command, examples, where the flags are, and exits 0', async () => {
    const { code, stdout, stderr } = await runAlone(['--help'])
    expect([code, stderr]).toEqual([0, ''])
    expect(stdout).toMatch(/^Usage:[^]*\nExamples:\n/)
    for (const command of ['serve', 'doctor', 'migrate', 'keys']) {
      expect(stdout).toMatch(new RegExp(`^ {2}${command} `, 'm'))
    }
    expect(stdout).toContain('serve --help')
    expect(stdout).toMatch(/^ +drawbridge-server /m)
    expect(stdout).toContain('Exit codes:')
    const serve = await runAlone(['serve', '--help'])
    expect(serve.code).toBe(0)
    for (const flag of ['--base-url', '--listen', '--store', '--access-token-ttl', '--json']) {
      expect(serve.stdout).toContain(flag)
    }
  })

  it('--version prints one version', async () => {
    const { code, stdout, stderr } = await runAlone(['--version'])
    expect([code, stderr]).toEqual([0, ''])
    expect(stdout).toMatch(/^\d+\.\d+\.\d+\n$/)
  })

  it('an unknown command or flag exits 2 and says how to go on', async () => {
    for (const argv of [['--bas-url', 'http://localhost:1'], ['serv']]) {
      const { code, stdout, stderr } = await runAlone(argv)
      expect([argv, code, stdout]).toEqual([argv, 2, ''])
      expect(stderr).toMatch(/unknown option|unknown command|too many arguments/)
      expect(stderr).toContain('--help')
      expect(stderr).toMatch(/Did you mean (?:serve|--base-url)\?/)
    }
  })

  it.each<[argv: string[], settings: Record<string, string>, text: string]>([
    [['--'], {}, 'Behind -- there is nothing.'],
    [['--', 'npx', 'x'], { UPSTREAM: 'http://127.0.0.1:1/mcp' }, 'DRAWBRIDGE_UPSTREAM: /mcp offers this, or'],
    [
      ['--upstream', 'http://127.0.0.1:1/mcp', '--tools', 'x.mjs'],
      {},
      '/mcp offers the tools of TOOLS or those of UPSTREAM',
    ],
    [['keys', 'list', '--', 'npx'], {}, 'Only serve takes a command behind --.'],
  ])('an upstream that cannot be exits 2: %j %j', async (argv, settings, text) => {
    const { code, stdout, stderr } = await runAlone(argv, { settings })
    expect([code, stdout]).toEqual([2, ''])
    expect(stderr).toContain(text)
  })
})

describe('a port that is in use', () => {
  it.each([
    { what: 'the server', settings: (taken: number, free: number) => ({ taken, free }) },
    { what: 'the web app', settings: (taken: number, free: number) => ({ taken: free, free: taken }) },
  ])('of $what ends the start with 1 and a next step', async ({ settings }) => {
    const { taken, free } = settings(await occupyPort(), await freePort())
    const { code, stdout, stderr } = await runAlone([], {
      settings: {
        LISTEN: `127.0.0.1:${taken}`,
        BASE_URL: `http://localhost:${taken}`,
        APP_URL: `http://localhost:${free}`,
      },
    })
    expect([code, stdout]).toEqual([1, ''])
    expect(stderr).toContain('EADDRINUSE')
    expect(stderr).toMatch(/take other ports/)
    expect(stderr).not.toMatch(/^ +at /m)
  })
})

describe('a store that cannot be opened', () => {
  it('ends the start with 1, a reason and no stack trace', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'drawbridge-damaged-'))
    const path = join(folder, 'server.db')
    writeFileSync(path, `SQLite format 3\0${'damaged '.repeat(1000)}`)
    const { code, stdout, stderr } = await runAlone([], { settings: { STORE: `sqlite:${path}` } })
    rmSync(folder, { recursive: true })
    expect([code, stdout]).toEqual([1, ''])
    expect(stderr).toContain('drawbridge-server did not start.')
    expect(stderr).toContain(path)
    expect(stderr).not.toMatch(/^ +at /m)
  })
})
