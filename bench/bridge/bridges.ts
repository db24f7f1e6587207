import { mkdtempSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { missingPackages, startKeyringSession } from '../../tests/keychain/session.ts'
import { createBrowser } from '../../tests/support/bridge/sign-in/browser.ts'
import { type Bench, peerFile, peerName, startScript } from '../bench.ts'
import { launch, type Program } from '../child.ts'
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
  return {
    url,
    ours: { name: ours, start: () => startLineClient(drawbridge(bench, [url])) },
    reference: { name: reference, start: () => startLineClient(mcpRemote(bench, url)) },
  }
}

/**
 * Opens a server that requires access tokens, and signs both bridges in at it. All later starts find their login, and
 * fail without it: they have no browser. The key of Drawbridge's login is in `store`.
 */
export async function openSignedIn(bench: Bench, store: 'keychain' | 'file'): Promise<Bridges> {
  const server = await startScript(bench, 'session-server.ts', { argv: ['guarded'] })
  const url = `http://127.0.0.1:${server.port}/mcp`
  const bridge = drawbridge(bench, [url, '--store', store])
  if (store === 'keychain') Object.assign(bridge.environment, await openKeychain(bench))
  const peer = mcpRemote(bench, url)
  const browser = createBrowser(0)
  const withBrowser = (program: HomeProgram): Program => ({
    ...program,
    environment: { ...program.environment, ...browser.environment },
  })
  try {
    await login(withBrowser({ ...bridge, argv: ['login', ...bridge.argv] }))
    const client = startLineClient(withBrowser(peer))
    bench.endings.push(() => client.close())
    await openConnection(client)
    await bench.endings.pop()?.()
  } finally {
    browser.remove()
  }
  return {
    url,
    accessToken: String(server.ready['accessToken']),
    ours: { name: `${ours} (${store})`, start: () => startLineClient(bridge) },
    reference: { name: `${reference} (signed in)`, start: () => startLineClient(peer) },
  }
}

type HomeProgram = Program & Required<Pick<Program, 'argv' | 'environment'>>

function drawbridge(bench: Bench, argv: readonly string[]): HomeProgram {
  return atHome(bench, 'Drawbridge', bench.bridgeLauncher, argv)
}

function mcpRemote(bench: Bench, url: string): HomeProgram {
  const script = peerFile(bench, 'npm', 'node_modules/mcp-remote/dist/proxy.js')
  return atHome(bench, 'mcp-remote', script, [url, '--transport', 'http-only'])
}

/** Returns a program whose user has stored nothing yet. */
function atHome({ scratch }: Bench, name: string, script: string, argv: readonly string[]): HomeProgram {
  const directory = mkdtempSync(join(scratch, 'home-'))
  const logFile = join(directory, 'log')
  return { name, script, argv, directory, environment: { MCP_REMOTE_CONFIG_DIR: directory }, logFile }
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

async function login(program: Program): Promise<void> {
  const { child, ended, kill } = launch(program)
  child.stdin?.end()
  child.stdout?.resume()
  const timer = setTimeout(kill, signInTimeoutMs, 'SIGKILL')
  const how = await ended
  clearTimeout(timer)
  if (how !== '0')
    throw new Error(`drawbridge login ended with ${how}:\n${readFileSync(program.logFile, 'utf8')}`)
}
