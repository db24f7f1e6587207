import { chmodSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeEach, expect, it } from 'vitest'
import { temporaryFolder } from '../../../tests/support/temporary-folder.ts'
import { checkSettings } from '../../config/config.ts'
import { settingsOfObject } from '../../config/setting-source.ts'
import type { Settings } from '../../config/setting-table.ts'
import { checkFiles } from './file-check.ts'

let folder: string
beforeEach(() => {
  folder = temporaryFolder()
})

async function findings(setting: keyof Settings, name: string, text: string | undefined): Promise<string[]> {
  const path = join(folder, name)
  if (text !== undefined) writeFileSync(path, text)
  const checked = checkSettings(settingsOfObject({ [setting]: path }), { production: false })
  const { findings: found } = await checkFiles(checked, 0)
  return found.map(({ state, message }) => `${state} ${message.replaceAll(folder, '')}`)
}

it('doctor reports nothing about a file without faults', async () => {
  expect(await findings('clients', 'clients.json', JSON.stringify([client]))).toEqual([])
})

it('doctor reads only files that a setting names', async () => {
  const checked = checkSettings(settingsOfObject({}), { production: false })
  expect((await checkFiles(checked, 0)).findings).toEqual([])
})

const supabase: Settings = {
  appUrl: 'https://app.example.com',
  provider: 'supabase',
  providerUrl: 'https://ref.supabase.co/auth/v1',
  secretKeys: `a:${Buffer.alloc(32, 1).toString('base64')}`,
}

it.each<[name: string, given: Settings, noted: string[]]>([
  ['a real provider', supabase, ['note The endpoint offers only `whoami`']],
  ['a real provider, with an upstream', { ...supabase, upstream: 'http://127.0.0.1:9000/mcp' }, []],
  ['a trial, which has the notes of the demo', {}, []],
])('doctor notes an endpoint with only `whoami`: %s', async (_, given, noted) => {
  const checked = checkSettings(settingsOfObject({ ...given, store: 'memory:' }), { production: false })
  expect(checked.problems).toEqual([])
  const found = (await checkFiles(checked, 0)).findings
  expect(found.map(({ state, message }) => `${state} ${message.split(',')[0]}`)).toEqual(noted)
})

const client = {
  client_id: 'crm',
  redirect_uris: ['https://crm.example/callback'],
  token_endpoint_auth_method: 'none',
}

it.each<[setting: keyof Settings, name: string, text: string | undefined, found: RegExp]>([
  ['clients', 'clients.json', JSON.stringify([{ ...client, redirect_uris: [] }]), /^fail clients: .*entry 1/],
  ['clients', 'clients.json', '{', /^fail clients: .* is not valid JSON/],
  ['clients', 'clients.json', undefined, /^fail clients: file not found: /],
  [
    'tools',
    'one.mjs',
    "export const tools = [{ name: 'one', description: 'One.', inputSchema: { type: 'object' }, call: async () => 'one' }]",
    /^ok .* offers 1 plain tool\.$/,
  ],
  ['appLogo', 'logo', 'GIF89a', /^fail appLogo: .*logo is not an SVG, PNG, JPEG or WebP image\./],
  [
    'wellKnown',
    'well-known.json',
    '{"oauth-x":"x"}',
    /^fail wellKnown: .*documents of this server are reserved/,
  ],
  ['texts', 'fr.json', '{"language":"fr","texts":7}', /^fail texts: .*fr\.json: texts must be an object\./],
  ['tools', 'empty.mjs', 'export const nothing = 1', /^fail tools: .*exports only nothing/],
  ['tools', 'missing.mjs', undefined, /^fail tools: file not found: /],
])('doctor reports the fault of the file in %s, as %s', async (setting, name, text, found) => {
  expect(await findings(setting, name, text)).toEqual([expect.stringMatching(found)])
})

it('doctor names the tools that require no sign-in', async () => {
  const text = "export const tools = [{ name: 'one', public: true, call: async () => 'one' }]"
  expect(await findings('tools', 'open.mjs', text)).toEqual([
    expect.stringMatching(/offers 1 plain tool\.$/),
    'note Anyone can call one without signing in.',
  ])
})

it('doctor checks the file of the admin token without showing it', async () => {
  const secret = 'the-secret-token-of-the-admin-api'
  expect(await findings('adminTokenFile', 'token', secret)).toEqual([
    'fail adminTokenFile: /token can be used by others than its owner.',
  ])
  chmodSync(join(folder, 'token'), 0o600)
  expect(await findings('adminTokenFile', 'token', secret)).toEqual([])
})
