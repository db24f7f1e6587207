import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { createConfig } from '../config.ts'
import type { Settings } from '../setting.ts'
import { createFakeRuntime } from '../testing/fake-runtime.ts'
import { checkFiles } from './file-check.ts'

let folder: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'drawbridge-doctor-'))
})
afterEach(() => rmSync(folder, { recursive: true, force: true }))

async function findings(setting: keyof Settings, name: string, text: string | undefined): Promise<string[]> {
  const path = join(folder, name)
  if (text !== undefined) writeFileSync(path, text)
  const config = createConfig({ [setting]: path }, { production: false })
  const found = await checkFiles(config, createFakeRuntime())
  return found.map(({ state, message }) => `${state} ${message.replaceAll(folder, '')}`)
}

it('looks at nothing that no setting names', async () => {
  expect(await checkFiles(createConfig({}, { production: false }), createFakeRuntime())).toEqual([])
})

const client = {
  client_id: 'crm',
  redirect_uris: ['https://crm.example/callback'],
  token_endpoint_auth_method: 'none',
}
const document = { ...client, client_id: 'https://crm.example/client.json', client_name: 'CRM' }

it.each<[setting: keyof Settings, name: string, text: string | undefined, found: RegExp]>([
  ['clients', 'clients.json', JSON.stringify([client]), /^ok .* holds 1 client\.$/],
  ['clients', 'clients.json', JSON.stringify([{ ...client, redirect_uris: [] }]), /^fail CLIENTS: .*entry 1/],
  ['clients', 'clients.json', '{', /^fail CLIENTS: .* is not valid JSON/],
  ['clients', 'clients.json', undefined, /^fail CLIENTS: .* cannot be read \(ENOENT\)/],
  [
    'clientDocumentFile',
    'documents.json',
    JSON.stringify([document]),
    /^ok .* 1 client metadata document\.$/,
  ],
  ['clientDocumentFile', 'documents.json', JSON.stringify([client]), /^fail CLIENT_DOCUMENT_FILE: /],
  [
    'tools',
    'one.mjs',
    "export const tools = [{ name: 'one', description: 'One.', inputSchema: { type: 'object' }, call: async () => 'one' }]",
    /^ok .* offers 1 plain tool\.$/,
  ],
  ['tools', 'empty.mjs', 'export const nothing = 1', /^fail /],
  ['tools', 'missing.mjs', undefined, /^fail /],
])('%s, %s', async (setting, name, text, found) => {
  expect(await findings(setting, name, text)).toEqual([expect.stringMatching(found)])
})
