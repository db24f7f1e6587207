import { execFileSync } from 'node:child_process'
import { existsSync, mkdtempSync } from 'node:fs'
import { createRequire } from 'node:module'
import { delimiter, dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Bench } from '../bench.ts'
import { installPeers } from '../peer-install.ts'
import { type LineClient, startLineClient } from './line-client.ts'

/** A bridge that is measured. */
export interface Subject {
  name: string
  /** Starts it in front of `url`, run by the Node at `node`, with a home of its own. */
  start(url: string, node: string): LineClient
  /** Where its files are. */
  folder: string
}

const peers = { 'mcp-remote': '0.15.1', supergateway: '4.0.0', 'mcp-proxy': '6.7.19' }
/** The one that bars are ratios to. */
export const reference = 'mcp-remote 0.15.1'
export const ours = 'Drawbridge'

/** Drawbridge as it is published, and its peers. */
export function openSubjects(bench: Bench): readonly Subject[] {
  const manifest = installPeers(peers, { packageFolder: `${bench.packageFolder}-bridge`, say: bench.say })
  const resolve = createRequire(manifest).resolve
  const folderOf = (name: string): string => join(dirname(manifest), 'node_modules', name)
  const launcher = fileURLToPath(new URL('../../bridge/launcher.cjs', import.meta.url))
  const proxyScript = fileURLToPath(new URL('mcp-proxy-stdio.mjs', import.meta.url))
  const subject = (name: string, folder: string, argv: (url: string) => readonly string[]): Subject => ({
    name,
    folder,
    start(url, node) {
      const home = mkdtempSync(join(bench.scratch, 'home-'))
      const path = [dirname(node), process.env['PATH'] ?? ''].join(delimiter)
      return startLineClient([node, ...argv(url)], { PATH: path, HOME: home, MCP_REMOTE_CONFIG_DIR: home })
    },
  })
  return [
    subject(ours, dirname(launcher), (url) => [launcher, url]),
    subject(reference, folderOf('mcp-remote'), (url) => [
      join(folderOf('mcp-remote'), 'dist', 'proxy.js'),
      url,
      '--transport',
      'http-only',
    ]),
    subject('supergateway 4.0.0', folderOf('supergateway'), (url) => [
      join(folderOf('supergateway'), 'dist', 'index.js'),
      '--streamableHttp',
      url,
      '--logLevel',
      'none',
    ]),
    // Its command line has no such direction: this is its library.
    subject('mcp-proxy 6.7.19', folderOf('mcp-proxy'), (url) => [proxyScript, resolve('mcp-proxy'), url]),
  ]
}

/** The Node versions that bars are for: the pinned one that runs this, and Node 20 when the machine has it. */
export function nodesOf(): { name: string; path: string; major: number }[] {
  const nodes = [{ name: `Node ${process.versions.node}`, path: process.execPath, major: 26 }]
  for (const folder of (process.env['PATH'] ?? '').split(delimiter)) {
    const path = join(folder, 'node')
    if (folder.includes('node_modules') || !existsSync(path)) continue
    const version = execFileSync(path, ['-p', 'process.versions.node'], { encoding: 'utf8' }).trim()
    if (version.startsWith('20.')) return [...nodes, { name: `Node ${version}`, path, major: 20 }]
  }
  return nodes
}
