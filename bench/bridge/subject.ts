import { mkdtempSync } from 'node:fs'
import { createRequire } from 'node:module'
import { delimiter, dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Bench } from '../bench.ts'
import { installPeers } from '../peer-install.ts'
import { type LineClient, startLineClient } from './line-client.ts'
import type { BenchRemote } from './remote.ts'

/** A bridge in front of a server, as it is measured. */
export interface Subject {
  /** Its name in figures. */
  name: string
  kind: 'ours' | 'peer' | 'floor'
  remote: BenchRemote
  /** Starts it, run by the Node at `node`. */
  start(node: string): LineClient
}

/** The packages of the peers, at exactly these versions. */
export const peers = { 'mcp-remote': '0.15.1', supergateway: '4.0.0', 'mcp-proxy': '6.7.19' } as const
/** Drawbridge without sign-in; what it is called with one is in {@link signedIn}. */
export const ours = 'Drawbridge'
/** The peer that bars are ratios to. */
export const reference = `mcp-remote ${peers['mcp-remote']}`
/** What a bridge of node:http alone comes to: no bar can be below. */
export const floor = 'node:http relay'
/** Names of those in front of a server that wants tokens. */
export const signedIn = {
  keychain: `${ours} (keychain)`,
  file: `${ours} (key file)`,
  reference: `${reference} (signed in)`,
} as const

const supergateway = `supergateway ${peers.supergateway}`
const mcpProxy = `mcp-proxy ${peers['mcp-proxy']}`

/** Where the programs of all bridges are, and how each is told what to do. */
export interface Programs {
  drawbridge(url: string): readonly string[]
  mcpRemote(url: string): readonly string[]
  supergateway(url: string, token?: string): readonly string[]
  mcpProxy(url: string): readonly string[]
  floor(url: string): readonly string[]
  /** The folder that the peers are installed in. */
  peerFolder: string
}

/** Installs the peers, unless they are. */
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
    // Its command line has no such direction: this is its library.
    mcpProxy: (url) => [scriptOf('mcp-proxy-stdio.mjs'), createRequire(manifest).resolve('mcp-proxy'), url],
    floor: (url) => [scriptOf('floor-relay.cjs'), url],
  }
}

/** Drawbridge, its peers and the floor in front of a server that lets everybody in; every start has an empty home. */
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
    subject(supergateway, (url) => programs.supergateway(url)),
    subject(mcpProxy, programs.mcpProxy),
    subject(floor, programs.floor, 'floor'),
  ]
}

/** The peers that cannot sign in, with a token that does not end, in front of a server that wants one. */
export function fixedTokenSubjects(bench: Bench, programs: Programs, remote: BenchRemote): Subject[] {
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

/** The environment of a bridge whose user has stored nothing yet. */
export function newHome({ scratch }: Pick<Bench, 'scratch'>): Record<string, string> {
  const home = mkdtempSync(join(scratch, 'home-'))
  return { HOME: home, MCP_REMOTE_CONFIG_DIR: home }
}

/** Starts a bridge by the Node at `node`, which also is the first in its `PATH`. */
export function startBridge(
  node: string,
  argv: readonly string[],
  environment: Readonly<Record<string, string>>,
): LineClient {
  const path = [dirname(node), process.env['PATH'] ?? ''].join(delimiter)
  return startLineClient([node, ...argv], { PATH: path, ...environment })
}
