import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { createSelfSignedCertificate } from '../support/server/self-signed-certificate.ts'
import { expectAllConnected } from './attempt-facts.ts'
import { type DocumentServer, startDocumentServer } from './document-server.ts'
import { MemoryOAuthProvider } from './memory-oauth-provider.ts'
import { createPerson, type Person } from './person.ts'
import { redirectUri } from './plain-client.ts'
import { sdkClients } from './sdk-client.ts'
import { type ServerProcess, startServer } from './server-process.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'

let server: ServerProcess
let person: Person
/** The web site of the client's developer, by https. */
let site: DocumentServer

const authority = join(temporaryFolder(afterAll), 'authority.pem')

beforeAll(async () => {
  const tls = createSelfSignedCertificate(['localhost'])
  writeFileSync(authority, tls.cert)
  site = await startDocumentServer(tls)
  server = await startServer({}, { environment: { NODE_EXTRA_CA_CERTS: authority } })
  person = await createPerson(server)
})
afterAll(async () => {
  await expectAllConnected(server, 1)
  await server?.close()
  await site?.close()
})

it.each(['client 2, 2025-11-25', 'client 2, 2026-07-28 if it can'] as const)(
  '%s takes the address of its document as its id, and registers nothing',
  async (name) => {
    const clientMetadataUrl = `${site.origin}/sdk.json`
    site.publish('/sdk.json', {
      client_id: clientMetadataUrl,
      client_name: 'Quill',
      redirect_uris: [redirectUri],
    })
    const provider = Object.assign(new MemoryOAuthProvider(), { clientMetadataUrl })
    const client = sdkClients[name](server, { provider })
    await expect(client.connect()).rejects.toThrow(/unauthorized/i)
    expect(provider.clientInformation()?.client_id).toBe(clientMetadataUrl)
    await client.signIn(person)
    await client.connect()
    expect((await client.call('whoami')).text).toBe(`You are ${person.email}.`)
    await client.end()
    expect(server.events('client_registered')).toEqual([])
  },
)
