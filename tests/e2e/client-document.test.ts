import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createSelfSignedCertificate } from '../support/server/self-signed-certificate.ts'
import { expectAllConnected } from './attempt-facts.ts'
import {
  type ChoiceWorld,
  type ChoosingPerson,
  createChoiceWorld,
  createChoosingPerson,
  placeIn,
} from './choice.ts'
import { type DocumentServer, startDocumentServer } from './document-server.ts'
import { MemoryOAuthProvider } from './memory-oauth-provider.ts'
import { createPerson, type Person } from './person.ts'
import { redirectUri, statusOfCall } from './plain-client.ts'
import { sdkClientNames, sdkClients } from './sdk-client.ts'
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

describe('a client of a document whose user chooses', () => {
  const [read, write] = ['notes:read', 'notes:write']
  const everything = `mcp ${read} ${write} offline_access`
  let choosing: ServerProcess
  let world: ChoiceWorld
  const folder = temporaryFolder(afterAll)
  beforeAll(async () => {
    world = createChoiceWorld(folder)
    const settings = { ...world.settings, SIGN_IN_LIMIT: '1000' }
    const environment = { ...world.environment, NODE_EXTRA_CA_CERTS: authority }
    choosing = await startServer(settings, { environment })
  })
  afterAll(() => choosing?.close())

  /** What a sign-in gave: the scope of the token, and what a call was for. */
  interface Connected {
    accessToken: string
    scope: string | undefined
    place: object
  }

  /** Starts the application anew, without anything stored, which asks for `scope` once. */
  async function comeBack(
    name: (typeof sdkClientNames)[number],
    person: ChoosingPerson,
    scope: string,
  ): Promise<Connected> {
    const clientMetadataUrl = `${site.origin}/${encodeURIComponent(name)}`
    site.publish(new URL(clientMetadataUrl).pathname, {
      client_id: clientMetadataUrl,
      client_name: 'Quill',
      redirect_uris: [redirectUri],
    })
    const provider = Object.assign(new MemoryOAuthProvider(), { clientMetadataUrl })
    const client = sdkClients[name](choosing, { provider })
    await expect(client.connect()).rejects.toThrow(/unauthorized/i)
    // The libraries ask for what the challenge names; applications that know the scopes of a server add them.
    provider.authorizationUrls[0]?.searchParams.set('scope', scope)
    await client.signIn(person)
    await client.connect()
    const { clientId, ...place } = placeIn((await client.call('where')).text)
    expect(clientId).toBe(clientMetadataUrl)
    await client.end()
    const tokens = provider.tokens()
    return {
      accessToken: tokens?.access_token ?? '',
      scope: tokens?.scope?.replace(' offline_access', ''),
      place,
    }
  }

  it.each(sdkClientNames)(
    'a client of %s that comes back with less or more gets no more than its user leaves it, each time',
    async (name) => {
      const person = await createChoosingPerson(choosing, world, ['sales', 'legal'])
      const scopes = async (): Promise<string[]> =>
        (await person.connections()).map(({ scope }) => scope).toSorted()
      const connected = (scope: string): object => ({
        scope,
        place: { email: person.email, scope, workspace: 'legal' },
      })

      person.leaveOut = [write]
      person.workspace = 'legal'
      const first = await comeBack(name, person, everything)
      expect(first).toMatchObject(connected(`mcp ${read}`))
      expect(person.seen).toEqual([{ boxes: [`+${read}`, `+${write}`], workspaces: ['sales', 'legal'] }])

      // With less: no box, and the connection of before stays as it is.
      expect(await comeBack(name, person, 'mcp offline_access')).toMatchObject(connected('mcp'))
      expect(person.seen.at(-1)).toEqual({ boxes: [], workspaces: ['sales', '*legal'] })
      expect(await statusOfCall(choosing, first.accessToken)).toBe(200)
      expect(await scopes()).toEqual(['mcp', `mcp ${read}`])

      // With more again: only what its user left out is not ticked.
      expect(await comeBack(name, person, everything)).toMatchObject(connected(`mcp ${read}`))
      expect(person.seen.at(-1)).toEqual({
        boxes: [`+${read}`, `-${write}`],
        workspaces: ['sales', '*legal'],
      })

      // It has what it asks for: no box again. What is left out stays so until it is ticked.
      expect(await comeBack(name, person, `mcp ${read} offline_access`)).toMatchObject(
        connected(`mcp ${read}`),
      )
      expect(person.seen.at(-1)?.boxes).toEqual([])
      person.tick = [write]
      expect(await comeBack(name, person, everything)).toMatchObject(connected(`mcp ${read} ${write}`))
      expect(person.seen.at(-1)?.boxes).toEqual([`-${write}`])

      // In another browser nothing is known of that choice, but the user's last workspace is.
      const elsewhere = await createChoosingPerson(choosing, world, ['sales', 'legal'], person)
      elsewhere.leaveOut = [read, write]
      elsewhere.workspace = 'legal'
      expect(await comeBack(name, elsewhere, everything)).toMatchObject(connected('mcp'))
      expect(elsewhere.seen).toEqual([{ boxes: [`+${read}`, `+${write}`], workspaces: ['sales', '*legal'] }])
      expect(choosing.events('client_registered')).toEqual([])
    },
  )
})
