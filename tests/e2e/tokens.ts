import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { exportJWK, exportPKCS8, generateKeyPair, type JWK } from 'jose'
import { expect } from 'vitest'
import { runCommand } from './command-process.ts'
import type { Person } from './person.ts'
import type { ServerProcess } from './server-process.ts'

/** Adds a service, as an operator does. `client_secret` is missing with `--jwks`. */
export async function addService(
  server: ServerProcess,
  name: string,
  ...flags: string[]
): Promise<{ client_id: string; client_secret: string }> {
  const given = ['clients', 'add', '--service', name, ...flags, '--json']
  const { code, stdout, stderr } = await runCommand(server, given)
  expect(code, stderr).toBe(0)
  const facts = JSON.parse(stdout) as { client_id: string; client_secret: string }
  if (facts.client_secret !== undefined) server.secrets.note('client_secret', facts.client_secret)
  return facts
}

/** A service that signs, with its private key as a JWK and in PEM. */
export interface SigningService {
  client_id: string
  privateKey: JWK
  pem: string
}

/** Adds a service that signs with a new key of P-256. */
export async function addSigningService(server: ServerProcess, name: string): Promise<SigningService> {
  const pair = await generateKeyPair('ES256', { extractable: true })
  const file = join(server.directory, 'jwks.json')
  const facts = { kid: 'k', alg: 'ES256' }
  writeFileSync(file, JSON.stringify({ keys: [{ ...(await exportJWK(pair.publicKey)), ...facts }] }))
  const { client_id: id } = await addService(server, name, '--jwks', file)
  const privateKey = { ...(await exportJWK(pair.privateKey)), ...facts }
  return { client_id: id, privateKey, pem: await exportPKCS8(pair.privateKey) }
}

/** Makes a personal token on the pages, of a server with `PERSONAL_TOKENS=on`. */
export async function makePersonalToken(
  server: ServerProcess,
  { browser, email, password }: Person,
): Promise<string> {
  const first = await browser.visit(`${server.baseUrl}/account/connections`)
  const asksForPassword = first.html.includes('name="password"')
  const page = asksForPassword ? await browser.submit(first, 'password', { email, password }) : first
  const again = await browser.submit(page, 'days', { name: 'CI', days: '30', action: 'make_token' })
  const made = await browser.submit(again, 'password', { email, password })
  const [token = ''] = /mcpt_[\w-]{43}/.exec(made.html) ?? []
  expect(token).not.toBe('')
  server.secrets.note('access_token', token)
  return token
}
