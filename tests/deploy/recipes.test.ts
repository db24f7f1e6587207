import { spawnSync } from 'node:child_process'
import { globSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { parseEnv } from 'node:util'
import { variableOf } from '@drawbridge/shared/settings/setting.ts'
import { settings } from '../../server/config/setting-table.ts'
import { read, root } from './deploy-files.ts'

const deploy = read('docs/deploy.md')
const pages = ['README.md', ...globSync('docs/**/*.md', { cwd: root })].map(read).join('\n')

function blockWith(text: string): string {
  const block = [...deploy.matchAll(/```\w*\n(.*?)```/gs)].find(([, body]) => body?.includes(text))?.[1]
  if (block === undefined) throw new Error(`No block of docs/deploy.md has ${text}.`)
  return block
}

describe('the files that settings name', () => {
  it('docs/deploy.md names the files of settings in one folder', () => {
    const shown = parseEnv(blockWith('DRAWBRIDGE_METRICS_LISTEN').replaceAll(/^# (?=DRAWBRIDGE_)/gm, ''))
    const known: readonly string[] = settings.map(variableOf)
    for (const name of Object.keys(shown)) expect(known).toContain(name)
    for (const name of ['TOOLS', 'UPSTREAM', 'ACCESS'])
      expect(shown[`DRAWBRIDGE_${name}`]).toMatch(/^\/etc\/drawbridge\/[\w-]+\.\w+$/)
  })

  it.each([
    ['systemd', 'systemctl enable', /^install -m 644 my-tools\.mjs \/etc\/drawbridge\/ /m],
    ['Docker', 'docker run -d', /^docker run -d .*-v "\$PWD\/config:\/etc\/drawbridge:ro"/ms],
  ])('files that settings name reach production with %s', (_name, command, carries) => {
    expect(blockWith(command)).toMatch(carries)
  })

  it('files that settings name reach production with the files of the first hour', () => {
    expect(read('docs/first-hour.md')).toMatch(
      /copy `server\/launcher\.cjs`, `server\/dist` and `my-tools\.mjs`/,
    )
  })
})

/** What commands and tables of the docs write into a clone, as paths in it. */
const made = [
  ...[...pages.matchAll(/(?:keys generate|openssl rand|umask 077)[^\n|]*?> ?(\w[\w./-]*|\.[\w/-]+)/g)].map(
    ([, path]) => path,
  ),
  ...[...pages.matchAll(/sqlite:(?!\/)([\w./-]+\.db)/g)].flatMap(([, path]) => [
    path,
    `${path}-wal`,
    `${path}.lock`,
  ]),
  'deploy/.env',
  'deploy/drawbridge.env',
  'deploy/secret-keys',
  'provider.db',
  'drawbridge.env',
  '.env',
]

it.each([...new Set(made)].map((path) => [path]))('git does not see %s, which the docs make', (path) => {
  const { status } = spawnSync('git', ['check-ignore', '--no-index', '-q', String(path)], { cwd: root })
  expect(status).toBe(0)
})

it('secrets and stores that the docs make are found in them', () => {
  for (const path of ['secret-keys', 'admin-token', '.drawbridge/server.db'])
    expect(made.some((each) => each?.endsWith(path))).toBe(true)
})
