import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { variableOf } from '@drawbridge/shared/settings/setting.ts'
import { settings } from '../../server/config/setting-table.ts'
import { parseSecretKeySource, parseStore } from '../../server/config/store-address.ts'
import { readYaml, root } from './deploy-files.ts'

interface Service {
  build?: string
  image: string
  environment: Record<string, string>
  env_file?: string
  depends_on?: Record<string, { condition: string }>
  secrets?: string[]
  ports?: string[]
  volumes?: string[]
  healthcheck?: { test: string[] }
  read_only?: boolean
  cap_drop?: string[]
  stop_grace_period: string
}
const compose = readYaml('deploy/compose.yaml') as {
  services: { drawbridge: Service; postgres: Service }
  secrets: Record<string, { file: string }>
  volumes: Record<string, null>
}
const { drawbridge, postgres } = compose.services

it('deploy/compose.yaml sets existing variables to valid values', () => {
  const known: readonly string[] = settings.map(variableOf)
  for (const name of Object.keys(drawbridge.environment)) expect(known).toContain(name)
  const store = drawbridge.environment['DRAWBRIDGE_STORE']?.replace(/\$\{[^}]*\}/, 'secret') ?? ''
  expect(parseStore(store)).toMatchObject({ kind: 'postgres' })
  expect(new URL(store)).toMatchObject({
    hostname: 'postgres',
    username: postgres.environment['POSTGRES_USER'],
    pathname: `/${postgres.environment['POSTGRES_DB']}`,
  })
  expect(parseSecretKeySource(drawbridge.environment['DRAWBRIDGE_SECRET_KEYS'] ?? '')).toEqual({
    kind: 'file',
    path: '/run/secrets/secret-keys',
  })
})

it('deploy/compose.yaml holds no secret', () => {
  expect(postgres.environment['POSTGRES_PASSWORD']).toMatch(/^\$\{POSTGRES_PASSWORD:\?/)
  expect(drawbridge.secrets).toEqual(Object.keys(compose.secrets))
})

it('deploy/compose.yaml hides no file of the image', () => {
  expect(drawbridge.volumes).toBeUndefined()
})

it('deploy/compose.yaml waits for the database, and gives it a volume', () => {
  expect(drawbridge.depends_on).toEqual({ postgres: { condition: 'service_healthy' } })
  expect(postgres.healthcheck?.test.join(' ')).toContain('pg_isready')
  expect(postgres.volumes?.[0]?.split(':')[0]).toBe(Object.keys(compose.volumes)[0])
})

it('deploy/compose.yaml gives the program few privileges, on this computer alone, and time to drain', () => {
  expect(drawbridge).toMatchObject({ read_only: true, cap_drop: ['ALL'], ports: ['127.0.0.1:8787:8787'] })
  expect(Number.parseInt(drawbridge.stop_grace_period, 10)).toBeGreaterThan(30)
  expect(existsSync(join(root, 'deploy', drawbridge.build ?? '', 'Dockerfile'))).toBe(true)
})
