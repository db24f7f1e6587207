import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { expect, it } from 'vitest'
import { asTyped } from '../startup/program-name.ts'
import { settings } from '../config/setting-table.ts'
import { readCommandTable } from './command-table.ts'
import { baseUrlChecks } from './doctor/base-url-check.ts'
import { keyChecks } from './doctor/file-check.ts'
import { oidcChecks } from './doctor/oidc-check.ts'
import { outsideChecks } from './doctor/outside-check.ts'
import { contentChecks, postgresChecks, sqliteChecks } from './doctor/store-check.ts'
import { providerChecks } from './doctor/provider-check.ts'
import { providerUseChecks, reachChecks, settingChecks } from './doctor/setting-check.ts'
import { cookieChecks, supabaseChecks } from './doctor/supabase-check.ts'
import { upstreamChecks } from './doctor/upstream-check.ts'

const doctorChecks = [
  settingChecks,
  keyChecks,
  sqliteChecks,
  postgresChecks,
  contentChecks,
  reachChecks,
  baseUrlChecks,
  outsideChecks,
  supabaseChecks,
  oidcChecks,
  providerChecks,
  providerUseChecks,
  cookieChecks,
  upstreamChecks,
]

const commandTable = await readCommandTable()

const document = readFileSync(fileURLToPath(new URL('../../docs/commands.md', import.meta.url)), 'utf8')

it.each(commandTable)('$usage is printed as users of npx type it', ({ usage }) => {
  const started = {
    launcher: '/home/me/drawbridge/server/launcher.cjs',
    environment: { npm_command: 'exec' },
  }
  const line = `Next: drawbridge-server ${usage}`
  expect(asTyped(line, started)).toBe(line.replace('drawbridge', 'npx drawbridge'))
})

it.each(commandTable)('$usage is documented with its switches', ({ usage, switches }) => {
  expect(document).toContain(usage.replace(/ [<[].*/, ''))
  for (const name of Object.keys(switches ?? {})) expect(document).toContain(name)
})

it.each(commandTable)('$usage has examples that call it', ({ usage, examples }) => {
  expect(examples.length).toBeGreaterThan(0)
  for (const example of examples)
    expect(example === '' || example.startsWith(usage.replace(/ [<[].*/, ''))).toBe(true)
})

it.each(commandTable)('$usage lists settings in its help that exist and have a flag', ({ shown }) => {
  const withFlag = settings.filter(({ secret }) => !secret).map(({ field }) => field)
  expect(withFlag).toEqual(expect.arrayContaining([...(shown ?? [])]))
})

it('doctor is documented with every name of its findings', () => {
  const names = doctorChecks.flatMap((checks) => Object.keys(checks))
  expect(names.length).toBeGreaterThan(30)
  for (const name of new Set(names)) expect(document).toContain(`\`${name}\``)
})
