import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync } from 'node:fs'
import { join } from 'node:path'
import { missingPackages, startKeyringSession } from '../../tests/keychain/session.ts'
import { createBrowser } from '../../tests/support/bridge/sign-in/browser.ts'
import { type Bench, peerFile, peerName, startScript } from '../bench.ts'
import { ours } from '../contest.ts'
import { type LineClient, openConnection, startLineClient } from './line-client.ts'

/** The peer of all bridges. */
const reference = peerName('mcp-remote')

const signInTimeoutMs = 30_000

/** A measured bridge in front of a server. */
export interface Bridge {
  /** Its name in figures. */
  name: string
  start(): LineClient
}

/** A server, and Drawbridge and mcp-remote in front of it. */
export interface Bridges {
  url: string
  /** An access token for requests without a bridge. */
  accessToken?: string
  ours: Bridge
  reference: Bridge
}

/** Opens an open server; every start of a bridge has an empty home. */
export async function openBridges(bench: Bench): Promise<Bridges> {
  const { port } = await startScript(bench, 'session-server.ts')
  const url = `http://127.0.0.1:${port}/mcp`
  const bridge = (name: string, argv: readonly string[]): Bridge => ({
    name,
    start: () => startLineClient(argv, newHome(bench)),
  })
  return {
    url,
    ours: bridge(ours, [bench.bridgeLauncher, url]),
    reference: bridge(reference, mcpRemote(bench, url)),
  }
}

/**
 * Opens a server that requires access tokens, and signs both bridges in at it. All later starts find their login, and
 * fail without it: they have no browser. The key of Drawbridge's login is in `store`.
 */
export async function openSignedIn(bench: Bench, store: 'keychain' | 'file'): Promise<Bridges> {
  const server = await startScript(bench, 'session-server.ts', { argv: ['guarded'] })
  const url = `http://127.0.0.1:${server.port}/mcp`
  const home = { ...newHome(bench), ...(store === 'keychain' && (await openKeychain(bench))) }
  const otherHome = newHome(bench)
  const [argv, otherArgv] = [[bench.bridgeLauncher, url, '--store', store], mcpRemote(bench, url)]
  const browser = createBrowser(0)
  try {
    await login([bench.bridgeLauncher, 'login', url, '--store', store], { ...home, ...browser.environment })
    const client = startLineClient(otherArgv, { ...otherHome, ...browser.environment })
    bench.endings.push(() => client.close())
    await openConnection(client)
    await bench.endings.pop()?.()
  } finally {
    browser.remove()
  }
  return {
    url,
    accessToken: String(server.ready['accessToken']),
    ours: { name: `${ours} (${store})`, start: () => startLineClient(argv, home) },
    reference: { name: `${reference} (signed in)`, start: () => startLineClient(otherArgv, otherHome) },
  }
}

function mcpRemote(bench: Bench, url: string): string[] {
  return [peerFile(bench, 'npm', 'node_modules/mcp-remote/dist/proxy.js'), url, '--transport', 'http-only']
}

/** Returns the environment of a bridge whose user has stored nothing yet. */
function newHome({ scratch }: Bench): Record<string, string> {
  const home = mkdtempSync(join(scratch, 'home-'))
  return { HOME: home, MCP_REMOTE_CONFIG_DIR: home }
}

/** Starts an unlocked keychain on a separate bus, and returns the environment to reach it. */
async function openKeychain({ endings }: Bench): Promise<Record<string, string>> {
  const missing = missingPackages()
  if (missing.length > 0) throw new Error(`The keychain needs: apt-get install ${missing.join(' ')}`)
  const { environment, close } = await startKeyringSession('unlocked')
  endings.push(close)
  const { DBUS_SESSION_BUS_ADDRESS = '', XDG_RUNTIME_DIR = '' } = environment
  return { DBUS_SESSION_BUS_ADDRESS, XDG_RUNTIME_DIR }
}

async function login(argv: readonly string[], environment: Readonly<Record<string, string>>): Promise<void> {
  const child = spawn(process.execPath, argv, {
    env: { PATH: process.env['PATH'] ?? '', ...environment },
    stdio: ['ignore', 'ignore', 'pipe'],
    timeout: signInTimeoutMs,
    killSignal: 'SIGKILL',
  })
  let said = ''
  child.stderr.on('data', (chunk: Buffer) => (said += chunk.toString()))
  const [code, signal] = (await once(child, 'close')) as [number | null, NodeJS.Signals | null]
  if (code !== 0) throw new Error(`drawbridge login ended with ${code ?? signal}:\n${said}`)
}
