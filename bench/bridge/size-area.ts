import { spawnSync } from 'node:child_process'
import { mkdirSync, readdirSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Bench } from '../bench.ts'
import { atMost, type BarredFigure, reported } from '../figure.ts'

/** What is on the disk after installing the bridge as npm packs it, without the optional keychain binary. */
export function measureBridgeSize(bench: Bench): Promise<BarredFigure[]> {
  const folder = join(bench.scratch, 'install')
  mkdirSync(folder, { recursive: true })
  writeFileSync(join(folder, 'package.json'), '{"private":true}')
  const bridge = fileURLToPath(new URL('../../bridge', import.meta.url))
  const packed = run(['pack', bridge, '--pack-destination', folder], folder).trim().split('\n').at(-1) ?? ''
  run(['install', '--omit=optional', '--no-audit', '--no-fund', join(folder, packed)], folder)
  const mine = weigh(join(folder, 'node_modules'))
  const peers = weigh(join(`${bench.packageFolder}-bridge`, 'node_modules'))
  const area = 'bridge size'
  return Promise.resolve([
    atMost(60, { area, name: 'installed files', value: mine.files, unit: '' }),
    atMost(4, { area, name: 'installed size', value: mine.bytes / 1e6, unit: 'MB' }),
    reported({
      area,
      name: 'installed size, the three peers together',
      value: peers.bytes / 1e6,
      unit: 'MB',
    }),
  ])
}

function run(argv: readonly string[], folder: string): string {
  const npm = spawnSync('npm', argv, { cwd: folder, encoding: 'utf8' })
  if (npm.status !== 0) throw new Error(`npm ${argv[0]} failed:\n${npm.stderr}`)
  return npm.stdout
}

function weigh(folder: string): { files: number; bytes: number } {
  const files = readdirSync(folder, { recursive: true, withFileTypes: true }).filter((entry) =>
    entry.isFile(),
  )
  const bytes = files.reduce((sum, entry) => sum + statSync(join(entry.parentPath, entry.name)).size, 0)
  return { files: files.length, bytes }
}
