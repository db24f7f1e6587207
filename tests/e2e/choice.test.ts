import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { until } from '../support/until.ts'
import {
  type ChoiceWorld,
  type ChoosingPerson,
  createChoiceWorld,
  createChoosingPerson,
  type Place,
  placeIn,
} from './choice.ts'
import { MemoryOAuthProvider } from './memory-oauth-provider.ts'
import { postForm, registerPlainClient, statusOfCall, type Tokens } from './plain-client.ts'
import { type SdkClient, type SdkClientName, sdkClientNames, sdkClients } from './sdk-client.ts'
import { type ServerProcess, startServer } from './server-process.ts'

const read = 'notes:read'
const write = 'notes:write'
const two = ['sales', 'legal']
const sixty = Array.from({ length: 60 }, (_, index) => `team-${index}`)

let server: ServerProcess
let world: ChoiceWorld
const folder = temporaryFolder(afterAll)

beforeAll(async () => {
  world = createChoiceWorld(folder)
  const settings = { ...world.settings, SESSION_CHECK: '1s', SIGN_IN_LIMIT: '1000' }
  server = await startServer(settings, { environment: world.environment })
})
afterAll(() => server?.close())

/** A client whose user chooses, and how much it did. */
interface ChoiceClient {
  person: ChoosingPerson
  provider: MemoryOAuthProvider
  id(): string
  /** Calls a tool. Rejects as the library does. */
  call(tool: string): Promise<Place>
  /** Calls a tool that is refused. Returns the requests to `/mcp` and the sign-ins that the library made of it. */
  callRefused(tool: string): Promise<{ posts: number; signIns: number }>
  /** Signs in as the client requested last. */
  signIn(): Promise<void>
  end(): Promise<void>
}

/** Connects a client that asks for every scope, as `person` allows it. */
async function connect(name: SdkClientName, person: ChoosingPerson): Promise<ChoiceClient> {
  let posts = 0
  const counting: typeof fetch = (input, init) => {
    if (String(input instanceof Request ? input.url : input) === server.mcpUrl && init?.method === 'POST')
      posts += 1
    return server.fetch(input, init)
  }
  const provider = new MemoryOAuthProvider({ client_name: name })
  const sdk: SdkClient = sdkClients[name](server, { provider, fetch: counting })
  await expect(sdk.connect()).rejects.toThrow(/unauthorized/i)
  // The libraries ask for what the challenge names; applications that know the scopes of a server add them.
  provider.authorizationUrls[0]?.searchParams.set('scope', `mcp ${read} ${write} offline_access`)
  await sdk.signIn(person)
  await sdk.connect()
  return {
    person,
    provider,
    id: () => provider.clientInformation()?.client_id ?? '',
    call: async (tool) => placeIn((await sdk.call(tool)).text),
    async callRefused(tool) {
      const before = { posts, signIns: provider.authorizationUrls.length }
      await expect(sdk.call(tool)).rejects.toThrow()
      return { posts: posts - before.posts, signIns: provider.authorizationUrls.length - before.signIns }
    },
    signIn: () => sdk.signIn(person),
    end: () => sdk.end(),
  }
}

const scopeOf = ({ provider }: ChoiceClient): string | undefined =>
  provider.tokens()?.scope?.replace(' offline_access', '')

/** Makes the client refresh at its next request. */
async function revokeAccessToken({ provider, id }: ChoiceClient): Promise<void> {
  const token = provider.tokens()?.access_token ?? ''
  expect((await postForm(server, '/oauth/revoke', { client_id: id(), token })).status).toBe(200)
}

/** The first line of the SDK refreshes at a step-up while it can, so that its user is asked for nothing. */
const signInsOfRefusal = (name: SdkClientName): number => (name === 'sdk 1, 2025-11-25' ? 0 : 1)

describe.each(sdkClientNames)('a client whose user chooses, %s', (name) => {
  it.each<[many: string, workspaces: string[], workspace: string | undefined]>([
    ['no', [], undefined],
    ['one', ['only'], 'only'],
    ['two', two, 'legal'],
    ['sixty', sixty, 'team-59'],
  ])(
    `${name} gets what its user left of its scopes, with %s workspaces, and signs in once`,
    async (_many, workspaces, workspace) => {
      const person = await createChoosingPerson(server, world, workspaces)
      person.leaveOut = [write]
      person.workspace = workspace ?? ''
      const client = await connect(name, person)
      const shown = workspaces.length > 1 ? workspaces : []
      expect(person.seen).toEqual([{ boxes: [`+${read}`, `+${write}`], workspaces: shown }])
      const place = { email: person.email, clientId: client.id(), scope: `mcp ${read}`, workspace }
      expect([scopeOf(client), await client.call('where')]).toEqual([`mcp ${read}`, place])
      await revokeAccessToken(client)
      expect([await client.call('where'), await client.call('where')]).toEqual([place, place])
      expect(client.provider.savedTokens).toHaveLength(2)
      expect([scopeOf(client), client.provider.authorizationUrls.length]).toEqual([`mcp ${read}`, 1])
      await client.end()
    },
  )

  it(`${name} asks once for each call of a tool whose scope was left out, which the step-up shows unticked`, async () => {
    const person = await createChoosingPerson(server, world, two)
    person.leaveOut = [write]
    const client = await connect(name, person)
    person.leaveOut = []
    const signIns = signInsOfRefusal(name)
    for (let turn = 1; turn <= 3; turn += 1) {
      const made = await client.callRefused('write')
      expect(made.signIns).toBe(signIns)
      expect(made.posts).toBeLessThanOrEqual(2)
      if (signIns > 0) {
        await client.signIn()
        expect(person.seen.at(-1)).toEqual({ boxes: [`-${write}`], workspaces: ['*sales', 'legal'] })
      }
      expect(await client.call('where')).toMatchObject({ scope: `mcp ${read}`, workspace: 'sales' })
    }
    expect(client.provider.authorizationUrls).toHaveLength(1 + 3 * signIns)
    await client.end()
  })

  it(`${name} is refused at the call after its user took a scope back, and signs in once for the next`, async () => {
    const person = await createChoosingPerson(server, world, two)
    const client = await connect(name, person)
    expect(await client.call('write')).toMatchObject({ scope: `mcp ${read} ${write}` })
    expect(await person.change(client.id(), { scope: `mcp ${read}` })).toEqual([200])
    expect(await client.call('where')).toMatchObject({ scope: `mcp ${read}` })
    // It refreshes first, since it was given the scope, and so learns that it has it no more.
    expect(await client.callRefused('write')).toEqual({ posts: 2, signIns: 0 })
    expect(scopeOf(client)).toBe(`mcp ${read}`)
    const made = await client.callRefused('write')
    expect(made.signIns).toBe(signInsOfRefusal(name))
    expect(made.posts).toBeLessThanOrEqual(2)
    if (made.signIns > 0) {
      await client.signIn()
      expect(person.seen.at(-1)?.boxes).toEqual([`-${write}`])
    }
    await revokeAccessToken(client)
    expect(await client.call('where')).toMatchObject({ scope: `mcp ${read}`, workspace: 'sales' })
    expect(scopeOf(client)).toBe(`mcp ${read}`)
    await client.end()
  })

  it(`${name} asks for no sign-in when its user has left the workspace, and works again in another one`, async () => {
    const person = await createChoosingPerson(server, world, two)
    const client = await connect(name, person)
    world.list(person.email, ['legal', 'new'])
    await until(async () => {
      const outcome = await client.call('where').catch(String)
      if (typeof outcome === 'string') return outcome.includes('workspace_lost')
      expect(outcome.workspace).toBe('sales')
      return false
    }, 'the next check of the membership')
    expect(await client.callRefused('where')).toEqual({ posts: 1, signIns: 0 })
    expect(await client.callRefused('write')).toEqual({ posts: 1, signIns: 0 })
    expect(await person.change(client.id(), { workspace: 'new' })).toEqual([200])
    expect(await client.call('where')).toMatchObject({ workspace: 'new', scope: `mcp ${read} ${write}` })
    expect(client.provider.authorizationUrls).toHaveLength(1)
    await client.end()
  })
})

it.each(sdkClientNames.filter((name) => signInsOfRefusal(name) > 0))(
  'a scope that was left out is granted when the user ticks it at the step-up of %s',
  async (name) => {
    const person = await createChoosingPerson(server, world, two)
    person.leaveOut = [read, write]
    const client = await connect(name, person)
    await client.callRefused('write')
    person.tick = [write]
    await client.signIn()
    expect(person.seen.at(-1)?.boxes).toEqual([`-${write}`])
    expect(await client.call('write')).toMatchObject({ scope: `mcp ${write}`, workspace: 'sales' })
    expect((await person.connections()).map(({ scope }) => scope)).toEqual([`mcp ${write}`])
    await client.end()
  },
)

it('a step-up ends the connection that it came from when its code is redeemed, a refresh of it under way included', async () => {
  const person = await createChoosingPerson(server, world, two)
  const client = await registerPlainClient(server)
  client.authorizationUrl.searchParams.set('scope', `mcp ${read}`)
  const first = await client.connect(person)
  client.authorizationUrl.searchParams.set('scope', `mcp ${read} ${write}`)
  const code = await client.code(person)
  const old = (await (await client.refresh(first.refresh_token)).json()) as Tokens
  expect(await statusOfCall(server, old.access_token)).toBe(200)
  const [redeemed, refreshed] = await Promise.all([client.redeem(code), client.refresh(old.refresh_token)])
  const next = (await redeemed.json()) as Tokens
  const late = refreshed.status === 200 ? [(await refreshed.json()) as Tokens] : []
  for (const { access_token: access, refresh_token: refresh } of [old, ...late]) {
    expect(await statusOfCall(server, access)).toBe(401)
    const answer = await client.refresh(refresh)
    expect([answer.status, await answer.json()]).toMatchObject([400, { error: 'invalid_grant' }])
  }
  expect(await statusOfCall(server, next.access_token)).toBe(200)
  expect((await client.refresh(next.refresh_token)).status).toBe(200)
  expect((await person.connections()).map(({ scope }) => scope)).toEqual([`mcp ${read} ${write}`])
  expect(server.events('grant_ended')).toContainEqual(
    expect.objectContaining({ client_id: client.id, reason: 'replaced' }),
  )
})
