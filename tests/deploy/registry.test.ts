import { execFileSync, spawnSync } from 'node:child_process'
import { cpSync, globSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { flagOf, variableOf } from '@drawbridge/shared/settings/setting.ts'
import { settings } from '../../bridge/config/setting-table.ts'
import bridge from '../../bridge/package.json' with { type: 'json' }
import { blocksOf, commandsOf } from '../docs/command-block.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { readJson, root } from './deploy-files.ts'

interface Input {
  type?: string
  name?: string
  isSecret?: boolean
  description: string
}
const server = readJson('server.json') as {
  $schema: string
  name: string
  title: string
  description: string
  version: string
  packages: [
    {
      registryType: string
      identifier: string
      version: string
      transport: { type: string }
      packageArguments: Input[]
      environmentVariables: Input[]
    },
  ]
}
const [packaged] = server.packages

const releaseFiles = [
  '*.json',
  '*/package.json',
  '*.md',
  'docs/*.md',
  '*/README.md',
  'Dockerfile',
  '.github',
  'shared/published.ts',
  'scripts/release-check.mjs',
]

// The rules of the schema of 2025-12-11 and of the official registry, as far as they touch this file.
it('server.json has a name by reverse DNS that the package repeats', () => {
  expect(server.name).toMatch(/^[a-zA-Z0-9.-]+\/[a-zA-Z0-9._-]+$/)
  expect(bridge.mcpName).toBe(server.name)
})

it('server.json describes the server in 100 characters', () => {
  expect(server.description.length).toBeLessThanOrEqual(100)
  expect(server.title.length).toBeLessThanOrEqual(100)
})

it('server.json names the package at its exact version', () => {
  expect(packaged).toMatchObject({
    registryType: 'npm',
    identifier: bridge.name,
    version: bridge.version,
    transport: { type: 'stdio' },
  })
  expect([server.version, /^\d+\.\d+\.\d+$/.test(server.version)]).toEqual([bridge.version, true])
})

it('server.json takes the URL first, then existing flags and variables, with secrets marked', () => {
  const {
    packageArguments: [first, ...flags],
    environmentVariables,
  } = packaged
  expect(first).toMatchObject({ type: 'positional', valueHint: 'url', isRequired: true })
  const known = new Map<string, (typeof settings)[number]>(
    settings.flatMap(
      (row) =>
        [
          [flagOf(row), row],
          [variableOf(row), row],
        ] as const,
    ),
  )
  for (const { name = '', isSecret = false } of [...flags, ...environmentVariables]) {
    const row = known.get(name)
    expect(row, name).toBeDefined()
    if (row?.secret === true) expect(isSecret, name).toBe(true)
  }
})

describe('the check of a release', () => {
  /** Copies what the check and the steps of docs/releasing.md read. */
  function copy(): string {
    const folder = temporaryFolder()
    const listed = execFileSync('git', ['ls-files', '--', ...releaseFiles], { cwd: root, encoding: 'utf8' })
    for (const path of listed.trim().split('\n')) cpSync(join(root, path), join(folder, path))
    return folder
  }

  const faultsOf = (version: string, folder = root): string[] => {
    const { status, stderr } = spawnSync(process.execPath, ['scripts/release-check.mjs', version], {
      cwd: folder,
      encoding: 'utf8',
    })
    const faults = stderr.split('\n').filter((line) => line.includes('Correct it'))
    expect(status).toBe(faults.length > 0 ? 1 : 0)
    return faults
  }

  function change(folder: string, path: string, from: string | RegExp, to: string): void {
    const text = readFileSync(join(folder, path), 'utf8')
    expect(text).toMatch(from)
    writeFileSync(join(folder, path), text.replaceAll(new RegExp(from, 'g'), to))
  }

  /** Does the steps of docs/releasing.md in a copy. */
  function prepared(): string {
    const folder = copy()
    execFileSync('git', ['init', '-q'], { cwd: folder })
    execFileSync('git', ['add', '-A'], { cwd: folder })
    const steps = blocksOf('docs/releasing.md').flatMap(commandsOf)
    const putOwner = steps.find((line) => line.includes('OWNER/drawbridge')) ?? ''
    execFileSync('bash', ['-ec', putOwner], { cwd: folder })
    change(folder, 'shared/published.ts', /isPublished = false/, 'isPublished = true')
    change(folder, 'CHANGELOG.md', /## Unreleased/, `## ${bridge.version}`)
    for (const path of globSync(['README.md', '{bridge,server}/README.md', 'docs/**/*.md'], {
      cwd: folder,
    })) {
      const text = readFileSync(join(folder, path), 'utf8')
      writeFileSync(join(folder, path), text.replaceAll(/(?:not|nothing is) on npm/gi, 'on npm'))
    }
    return folder
  }

  it('the check of a release names what is missing today', () => {
    const faults = faultsOf(bridge.version)
    for (const part of ['server.json still says OWNER', 'isPublished', '"## 0.1.0"', 'server/README.md says'])
      expect(faults).toContainEqual(expect.stringContaining(part))
    expect(faults.some((fault) => /version|differ/.test(fault))).toBe(false)
  })

  it('the check of a release passes after the steps of docs/releasing.md', () => {
    expect(faultsOf(bridge.version, prepared())).toEqual([])
  })

  it.each<[what: string, path: string, from: RegExp, to: string]>([
    [
      'bridge/package.json has version 9.9.9',
      'bridge/package.json',
      /"version": "[\d.]+"/,
      '"version": "9.9.9"',
    ],
    [
      'extension/package.json has version',
      'extension/package.json',
      /"version": "[\d.]+"/,
      '"version": "9.9.9"',
    ],
    [
      'server/package.json needs another version of @drawbridge/shared',
      'server/package.json',
      /shared": "[\d.]+"/,
      'shared": "9.9.9"',
    ],
    ['server.json has another version', 'server.json', /"version": "[\d.]+"/, '"version": "9.9.9"'],
    ['the Dockerfile has another VERSION', 'Dockerfile', /VERSION=[\d.]+/, 'VERSION=9.9.9'],
    [
      'mcpName of bridge/package.json differ',
      'bridge/package.json',
      /"mcpName": "[^"]+"/,
      '"mcpName": "io.github.b/drawbridge"',
    ],
    ['label of the Dockerfile differ', 'Dockerfile', /io\.github\.[\w-]+/, 'io.github.b'],
    [
      'the repository of server/package.json differ',
      'server/package.json',
      /github\.com\/[\w-]+/,
      'github.com/b',
    ],
    ['the repository of bridge/package.json differ', 'bridge/package.json', /"repository"/, '"repo"'],
    ['config.yml still says OWNER', '.github/ISSUE_TEMPLATE/config.yml', /your-name/, 'OWNER'],
    ['docs/bridge.md says that the packages are not on npm', 'docs/bridge.md', /on npm/, 'not on npm yet'],
  ])('the check of a release stops where %s', (fault, path, from, to) => {
    const folder = prepared()
    change(folder, path, from, to)
    expect(faultsOf(bridge.version, folder)).toContainEqual(expect.stringContaining(fault))
  })
})
