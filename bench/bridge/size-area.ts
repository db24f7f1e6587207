import { spawnSync } from 'node:child_process'
import { mkdirSync, readdirSync, statSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import type { Bench } from '../bench.ts'
import { atMost, type BarredFigure, reported } from '../figure.ts'
import { dependencyFolders } from './dependency-folder.ts'
import { openPrograms, peers } from './subject.ts'

const area = 'bridge size'

interface Weight {
  files: number
  bytes: number
}

/** Measures the installed size of the bridge as npm packs it, without the optional keychain binary. */
export function measureBridgeSize(bench: Bench): Promise<BarredFigure[]> {
  const folder = join(bench.scratch, 'install')
  mkdirSync(folder, { recursive: true })
  writeFileSync(join(folder, 'package.json'), '{"private":true}')
  const bridge = dirname(bench.bridgeLauncher)
  const packed = run(['pack', bridge, '--pack-destination', folder], folder).trim().split('\n').at(-1) ?? ''
  run(['install', '--omit=optional', '--no-audit', '--no-fund', join(folder, packed)], folder)
  const mine = weigh([join(folder, 'node_modules')])
  const { peerFolder } = openPrograms(bench)
  return Promise.resolve([
    atMost(100, { area, name: 'installed files', value: mine.files, unit: '' }),
    atMost(4, { area, name: 'installed size', value: mine.bytes / 1e6, unit: 'MB' }),
    ...Object.entries(peers).flatMap(([name, version]) => {
      const weight = weigh(dependencyFolders(peerFolder, name))
      const peer = `${name} ${version}`
      return [
        reported({
          area,
          name: `installed files, ${peer}`,
          value: weight.files,
          unit: '',
          peer,
          ratio: mine.files / weight.files,
        }),
        reported({
          area,
          name: `installed size, ${peer}`,
          value: weight.bytes / 1e6,
          unit: 'MB',
          peer,
          ratio: mine.bytes / weight.bytes,
        }),
      ]
    }),
  ])
}

function run(argv: readonly string[], folder: string): string {
  const npm = spawnSync('npm', argv, { cwd: folder, encoding: 'utf8' })
  if (npm.status !== 0) throw new Error(`npm ${argv[0]} failed:\n${npm.stderr}`)
  return npm.stdout
}

/** Sums everything in `folders`, except for nested packages that are in the list themselves. */
function weigh(folders: readonly string[]): Weight {
  const all = new Set(folders)
  const walk = (folder: string): Weight => {
    const sum: Weight = { files: 0, bytes: 0 }
    for (const entry of readdirSync(folder, { withFileTypes: true })) {
      const path = join(folder, entry.name)
      if (entry.isFile()) {
        sum.files += 1
        sum.bytes += statSync(path).size
      }
      if (!entry.isDirectory() || all.has(path)) continue
      const inner = walk(path)
      sum.files += inner.files
      sum.bytes += inner.bytes
    }
    return sum
  }
  return [...all]
    .map(walk)
    .reduce((sum, { files, bytes }) => ({ files: sum.files + files, bytes: sum.bytes + bytes }))
}
