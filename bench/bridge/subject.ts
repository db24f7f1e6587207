import { mkdtempSync } from 'node:fs'
import { createRequire } from 'node:module'
import { delimiter, dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Bench } from '../bench.ts'
import { installPeers } from '../peer-install.ts'
import { type LineClient, startLineClient } from './line-client.ts'
import type { BenchRemote } from './remote.ts'

/** A measured bridge in front of a server. */
export interface Subject {
  /** Its name in figures. */
  name: string
  kind: 'ours' | 'peer' | 'floor'
  remote: BenchRemote
  /** Starts the bridge with the Node at `node`. */
  start(node: string): LineClient
}

/** Exact versions of the peers' packages. */
export const peers = { 'mcp-remote': '0.15.1', supergateway: '4.0.0', 'mcp-proxy': '6.7.19' } as const
/** Drawbridge without sign-in; see {@link signedIn} for its name with one. */
export const ours = 'Drawbridge'
/** The peer for ratios. */
export const reference = `mcp-remote ${peers['mcp-remote']}`
/** A bridge of node:http alone: the lower bound for any bar. */
export const floor = 'node:http relay'
/** Names in front of a server that requires tokens. */
export const signedIn = {
  keychain: `${ours} (keychain)`,
  file: `${ours} (key file)`,
  reference: `${reference} (signed in)`,
} as const

const supergateway = `supergateway ${peers.supergateway}`
const mcpProxy = `mcp-proxy ${peers['mcp-proxy']}`

/** Programs of all bridges, with their command lines. */
export interface Programs {
  drawbridge(url: string): readonly string[]
  mcpRemote(url: string): readonly string[]
  supergateway(url: string, token?: string): readonly string[]
  mcpProxy(url: string): readonly string[]
  floor(url: string): readonly string[]
  /** The folder with the installed peers. */
  peerFolder: string
}

/** Installs the peers if necessary. */
export function openPrograms(bench: Bench): Programs {
  const manifest = installPeers(peers, { packageFolder: `${bench.packageFolder}-bridge`, say: bench.say })
  const peerFolder = join(dirname(manifest), 'node_modules')
  const scriptOf = (name: string): string => fileURLToPath(new URL(name, import.meta.url))
  return {
    peerFolder,
    drawbridge: (url) => [bench.bridgeLauncher, url],
    mcpRemote: (url) => [join(peerFolder, 'mcp-remote', 'dist', 'proxy.js'), url, '--transport', 'http-only'],
    supergateway: (url, token) => [
      join(peerFolder, 'supergateway', 'dist', 'index.js'),
      '--streamableHttp',
      url,
      '--logLevel',
      'none',
      ...(token === undefined ? [] : ['--oauth2Bearer', token]),
    ],
    // Its command line lacks this direction, so this uses its library.
    mcpProxy: (url) => [scriptOf('mcp-proxy-stdio.mjs'), createRequire(manifest).resolve('mcp-proxy'), url],
    floor: (url) => [scriptOf('floor-relay.cjs'), url],
  }
}

/**
 * Opens Drawbridge, its peers (only the {@link reference} with `fewPeers`) and the floor in front of an open server;
 * every start has an empty home.
 */
export function openSubjects(bench: Bench, programs: Programs, remote: BenchRemote): Subject[] {
  const subject = (
    name: string,
    argv: (url: string) => readonly string[],
    kind: Subject['kind'] = 'peer',
  ): Subject => ({
    name,
    kind,
    remote,
    start: (node) => startBridge(node, argv(remote.url), newHome(bench)),
  })
  return [
    subject(ours, programs.drawbridge, 'ours'),
    subject(reference, programs.mcpRemote),
    ...(bench.fewPeers
      ? []
      : [subject(supergateway, (url) => programs.supergateway(url)), subject(mcpProxy, programs.mcpProxy)]),
    subject(floor, programs.floor, 'floor'),
  ]
}

/**
 * Opens the peers that cannot sign in (none with `fewPeers`), with a token that does not expire, in front of a guarded
 * server.
 */
export function fixedTokenSubjects(bench: Bench, programs: Programs, remote: BenchRemote): Subject[] {
  if (bench.fewPeers) return []
  const { url, accessToken = '' } = remote
  return [
    {
      name: `${supergateway} (token)`,
      kind: 'peer',
      remote,
      start: (node) => startBridge(node, programs.supergateway(url, accessToken), newHome(bench)),
    },
    {
      name: `${mcpProxy} (token)`,
      kind: 'peer',
      remote,
      start: (node) =>
        startBridge(node, programs.mcpProxy(url), { ...newHome(bench), BENCH_TOKEN: accessToken }),
    },
  ]
}

/** Returns the environment of a bridge whose user has stored nothing yet. */
export function newHome({ scratch }: Pick<Bench, 'scratch'>): Record<string, string> {
  const home = mkdtempSync(join(scratch, 'home-'))
  return { HOME: home, MCP_REMOTE_CONFIG_DIR: home }
}

/** Starts a bridge with the Node at `node`, which is also first in its `PATH`. */
export function startBridge(
  node: string,
  argv: readonly string[],
  environment: Readonly<Record<string, string>>,
): LineClient {
  const path = [dirname(node), process.env['PATH'] ?? ''].join(delimiter)
  return startLineClient([node, ...argv], { PATH: path, ...environment })
}
