import { readdirSync, writeFileSync } from 'node:fs'
import { setTimeout as delay } from 'node:timers/promises'
import { expect, it, onTestFinished } from 'vitest'
import type { BridgeProcess } from '../e2e/bridge-process.ts'
import { makeCertificates } from '../support/bridge/http/certificate-fixture.ts'
import { serveProxy } from '../support/bridge/http/proxy-fixture.ts'
import { type BridgeChild, textOf } from '../support/bridge/process/bridge-child.ts'
import { startTlsFront } from '../support/bridge/process/tls-front.ts'
import { filesIn, staged } from '../support/bridge/process/stage.ts'
import { type Remote, type RemoteOptions, startRemote } from '../support/remote/remote.ts'
import { underLoad } from '../support/under-load.ts'
import { until } from '../support/until.ts'
import { holdFiles, scanFiles } from './holders.ts'
import { launcherIn, runBridge, startWindowsBridge, withClient } from './installed.ts'
import type { Windows, WindowsOptions } from './wine.ts'

type WindowsBridge = BridgeProcess & BridgeChild

async function serve(options: RemoteOptions): Promise<Remote> {
  const remote = await startRemote(options)
  onTestFinished(() => remote.close())
  return remote
}

/** Not for long: whatever is left ends with Wine. */
function closeLater(bridge: WindowsBridge): WindowsBridge {
  onTestFinished(() => Promise.race([bridge.close(), delay(8000)]))
  return bridge
}

/** Walks through the sign-in in place of a browser. */
async function signIn(bridge: WindowsBridge): Promise<void> {
  expect((await fetch(await bridge.link())).status).toBe(200)
  await until(
    async () => (await bridge.tools()).includes('echo'),
    () => `the tools\n${bridge.stderr()}`,
  )
}

const echo = async (bridge: WindowsBridge, text: string): Promise<string> =>
  textOf(await bridge.ask('tools/call', { name: 'echo', arguments: { text } }))

/** The cases of the bridge in front of a server of another computer. */
export function bridgeCases(windowsOf: () => Windows): void {
  const start = (args: readonly string[], options?: WindowsOptions): WindowsBridge =>
    closeLater(startWindowsBridge(windowsOf(), args, options))

  it('the bridge in Windows signs in by its .cmd file, and renews, restarts, loses and ends the login', async () => {
    const windows = windowsOf()
    const remote = await serve({ auth: true })
    const first = closeLater(
      withClient(windows.start('drawbridge.cmd', [remote.url, '--no-open'], { shell: true })),
    )
    expect(await first.initialize()).toHaveProperty('result.serverInfo')
    await signIn(first)
    expect(await first.tools()).toContain('echo')
    expect(await echo(first, 'Zoë 山田')).toContain('Zoë 山田')

    remote.revokeAccessTokens()
    const texts = Array.from({ length: 8 }, (_, index) => `call ${index}`)
    const answers = await Promise.all(texts.map((text) => echo(first, text)))
    texts.forEach((text, index) => expect(answers[index]).toContain(text))
    expect(remote.counters.refreshesOk).toBe(1)
    expect(first.strayLines).toEqual([])
    await first.close()

    const second = start([remote.url])
    await second.initialize()
    expect(await echo(second, 'again')).toContain('again')
    expect(second.links()).toEqual([])
    const files = [...filesIn(windows.here(`${windows.home}\\.drawbridge`)).values()].join('\n')
    for (const secret of remote.secrets) expect(files.includes(secret)).toBe(false)

    remote.revokeGrants()
    const waiting = echo(second, 'revoked')
    expect((await fetch(await second.link())).status).toBe(200)
    expect(await waiting).toContain('revoked')
    await second.close()

    const { code, stderr } = await runBridge(windows, ['logout', remote.url])
    expect(code, stderr).toBe(0)
    expect(remote.counters.revocations).toBeGreaterThan(0)
    expect((await runBridge(windows, ['token', remote.url])).code).toBe(3)
  })

  it('two bridges in Windows with one login renew it once between them', async () => {
    const remote = await serve({ auth: true, tokenDelayMs: 300 })
    const first = start([remote.url])
    await first.initialize()
    await signIn(first)
    const second = start([remote.url])
    await second.initialize()
    expect(await echo(second, 'one login')).toContain('one login')
    remote.revokeAccessTokens()
    const answers = await Promise.all([first, second, first, second].map((each) => echo(each, 'renewed')))
    for (const answer of answers) expect(answer).toContain('renewed')
    expect(remote.counters).toMatchObject({ refreshesOk: 1, refreshesReused: 0, codeGrants: 1 })
  })

  it('a bridge in Windows keeps and logs every renewal although another program, such as a virus scanner, holds its files open', async () => {
    const windows = windowsOf()
    const home = `${windows.home}\\Geprüft`
    const remote = await serve({ auth: true })
    const bridge = start([remote.url, '--home', home, '--debug'])
    await bridge.initialize()
    scanFiles(windows, home)
    await signIn(bridge)
    // One process renews refused tokens a few times only.
    const bridges = [
      bridge,
      ...Array.from({ length: 3 }, () => start([remote.url, '--home', home, '--debug'])),
    ]
    await Promise.all(bridges.slice(1).map((each) => each.initialize()))
    for (const round of [1, 2])
      for (const each of bridges) {
        remote.revokeAccessTokens()
        expect(await echo(each, `renewal ${round}`)).toContain(`renewal ${round}`)
      }
    expect(remote.counters).toMatchObject({ refreshesOk: 8, refreshesReused: 0, codeGrants: 1 })
    const [log = ''] = filesIn(windows.here(`${home}\\logs`)).values()
    const processes = [...log.matchAll(/(\d+) token renewal .*: renewed$/gm)].map(([, pid]) => pid)
    expect(new Set(processes).size, log).toBe(4)
    const { code, stdout, stderr } = await runBridge(windows, ['logout', remote.url, '--home', home])
    expect(code, stdout + stderr).toBe(0)
  })

  it('the lock of a bridge that was killed in Windows is free at once, although a program has its file open', async () => {
    const windows = windowsOf()
    const remote = await serve({ auth: true })
    const first = start([remote.url])
    await first.initialize()
    await signIn(first)
    remote.revokeAccessTokens()
    remote.set({ tokenDelayMs: 60_000 })
    void first.call('echo', { text: 'never' })
    await until(() => (remote.counters.requests['POST /token'] ?? 0) === 2, 'the refresh')
    first.kill('SIGKILL')
    await first.over
    const locks = `${windows.home}\\.drawbridge\\credentials\\locks`
    const files = readdirSync(windows.here(locks)).map((name) => `${locks}\\${name}`)
    expect(files.length).toBeGreaterThan(0)
    await holdFiles(
      windows,
      files.map((file) => [file, false]),
    )
    remote.set({ tokenDelayMs: 0, graceSeconds: 60 })
    const second = start([remote.url])
    await second.initialize()
    const begin = performance.now()
    expect(await echo(second, 'taken over')).toContain('taken over')
    expect(performance.now() - begin).toBeLessThan(underLoad(2000))
  })

  it('a line in Windows may end with CRLF, and the first may begin with a byte order mark', async () => {
    const remote = await serve({ era: 'legacy' })
    const bridge = start([remote.url])
    const params = {
      protocolVersion: '2025-11-25',
      capabilities: {},
      clientInfo: { name: 'a', version: '1' },
    }
    bridge.write(`\uFEFF${JSON.stringify({ jsonrpc: '2.0', id: 'a', method: 'initialize', params })}\r`)
    expect(await bridge.find(({ id }) => id === 'a')).toHaveProperty('result')
    bridge.write('\r')
    bridge.write(`${JSON.stringify({ jsonrpc: '2.0', id: 'b', method: 'tools/list' })}\r`)
    expect(await bridge.find(({ id }) => id === 'b')).toHaveProperty('result.tools')
    expect(bridge.messages.filter(({ error }) => error)).toEqual([])
  })

  it('a bridge in Windows ends with stdin, and with Ctrl-C, and leaves no session', async () => {
    const windows = windowsOf()
    for (const end of [(bridge: WindowsBridge) => bridge.endInput(), () => windows.pressControlC()]) {
      const remote = await serve({ era: 'legacy' })
      const bridge = start([remote.url])
      await bridge.initialize()
      expect(await echo(bridge, 'here')).toContain('here')
      end(bridge)
      expect(await bridge.over).toMatchObject({ code: 0, signal: null })
      expect(remote.counters).toMatchObject({ sessionsOpen: 0, deletes: 1 })
    }
  })

  it('a bridge in Windows ends when its client is killed, or its .cmd file with which stdin ends', async () => {
    const windows = windowsOf()
    const words = [launcherIn(windows, 'mcp-drawbridge'), '--no-open']
    // Windows ends the other children of a killed Node with it, and so without a farewell.
    const client = `
      const { spawn } = require('node:child_process')
      const child = spawn(process.execPath, ${JSON.stringify(words)}.concat(process.argv[1]), { detached: true })
      process.stdin.pipe(child.stdin)
      child.stdout.pipe(process.stdout)`
    const parents = [
      (url: string) => windows.start(windows.node, ['-e', client, url]),
      (url: string) => windows.start('drawbridge.cmd', [url, '--no-open'], { shell: true }),
    ]
    for (const startParent of parents) {
      const remote = await serve({ era: 'legacy' })
      const parent = withClient(startParent(remote.url))
      await parent.initialize()
      expect(await echo(parent, 'here')).toContain('here')
      parent.kill('SIGKILL')
      await until(() => remote.counters.sessionsOpen === 0, `the end of the bridge of ${String(startParent)}`)
      expect(remote.counters.deletes).toBe(1)
    }
  })

  it('a bridge in Windows ends when the cmd.exe of its .cmd file is killed, although stdin stays open', async () => {
    const windows = windowsOf()
    const remote = await serve({ era: 'legacy' })
    const options = { shell: true, keepsStdin: true }
    const bridge = closeLater(withClient(windows.start('drawbridge.cmd', [remote.url, '--no-open'], options)))
    await bridge.initialize()
    expect(await echo(bridge, 'here')).toContain('here')
    bridge.kill('SIGKILL')
    await until(() => remote.counters.sessionsOpen === 0, 'the end of the bridge', 10_000)
  })

  it('proxy variables and an own authority count in Windows', () =>
    staged(async (stage) => {
      const windows = windowsOf()
      const { authority, valid } = makeCertificates()
      const remote = await stage.remote({ era: 'legacy' })
      const port = await startTlsFront(stage, valid, remote.url)
      const proxy = await serveProxy({ targetPort: port })
      const pem = `${windows.home}\\Stamm Zertifikat.pem`
      writeFileSync(windows.here(pem), authority)
      const url = `https://mcp.test:${port}/mcp`
      const environment = { https_proxy: `http://127.0.0.1:${proxy.port}` }
      for (const variables of [{ NODE_EXTRA_CA_CERTS: pem }, { DRAWBRIDGE_CA: pem }]) {
        const bridge = start([url], { env: { ...environment, ...variables } })
        expect(await bridge.initialize()).toHaveProperty('result.serverInfo')
        await bridge.close()
      }
      expect(proxy.lines).toContain(`CONNECT mcp.test:${port}`)
      const refused = await runBridge(windows, ['doctor', url], { env: environment })
      expect(refused.stdout).toContain('--ca')
    })())

  it('a folder of logins in Windows may have a path of more than 260 characters', async () => {
    const windows = windowsOf()
    const deep = Array.from({ length: 8 }, (_, index) => `${index} ${'ordner'.repeat(6)}`).join('\\')
    const folder = `${windows.home}\\${deep}\\logins`
    expect(folder.length).toBeGreaterThan(260)
    const remote = await serve({ auth: true })
    const bridge = start([remote.url, '--home', folder])
    await bridge.initialize()
    await signIn(bridge)
    await bridge.close()
    expect(readdirSync(windows.here(`${folder}\\credentials\\records`)).length).toBeGreaterThan(0)
    const { stdout } = await runBridge(windows, ['status', '--home', folder])
    expect(stdout).toContain(remote.url)
  })

  it('doctor in Windows says that the native part of the keychain is missing, and names no program of Linux', async () => {
    const remote = await serve({ era: 'legacy' })
    const { stdout, code } = await runBridge(windowsOf(), ['doctor', remote.url])
    expect(code, stdout).toBe(0)
    expect(stdout).toContain('its native part is not installed')
    expect(stdout).toContain('Otherwise: Install drawbridge again')
    expect(stdout).not.toMatch(/gnome|secret service|session bus|chmod/i)
  })
}
