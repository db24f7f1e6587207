import { execFileSync } from 'node:child_process'
import { expect, it } from 'vitest'
import { flagOf, variableOf } from '@drawbridge/shared/settings/setting.ts'
import { settings } from '../../bridge/config/setting-table.ts'
import bridge from '../../bridge/package.json' with { type: 'json' }
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

it('a release stops until the owner is put in, and for another version', () => {
  const faultsOf = (version: string): string => {
    try {
      execFileSync(process.execPath, ['scripts/release-check.mjs', version], { cwd: root, stdio: 'pipe' })
      return ''
    } catch (error) {
      return String((error as { stderr: Buffer }).stderr)
    }
  }
  expect(faultsOf(bridge.version).trim().split('\n')).toEqual([expect.stringContaining('OWNER')])
  expect(faultsOf('9.9.9')).toContain('package.json has version 0.1.0')
})
