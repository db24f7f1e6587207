import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type ChoiceWorld, createChoiceWorld, createChoosingPerson, placeIn } from '../e2e/choice.ts'
import { register } from '../e2e/plain-client.ts'
import { type ServerProcess, startServer } from '../e2e/server-process.ts'
import { buildGoServer } from '../support/bridge/process/go-server.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { until } from '../support/until.ts'
import { startGoClient } from './go-client.ts'

let server: ServerProcess
let world: ChoiceWorld
const folder = temporaryFolder(afterAll)

describe.skipIf(!(await buildGoServer()))('a client of the Go SDK whose user chooses', () => {
  beforeAll(async () => {
    world = createChoiceWorld(folder)
    const settings = { ...world.settings, SESSION_CHECK: '1s', SIGN_IN_LIMIT: '1000' }
    server = await startServer(settings, { environment: world.environment })
  })
  afterAll(() => server?.close())

  it.each([
    // The library registers a new client for each sign-in, of which nothing is known.
    ['that registers itself', 60, { refused: ['+notes:read', '+notes:write'] }],
    ['that was registered', 2, { refused: ['-notes:write'] }],
  ])(
    'the Go SDK signs in once for each refused call, and not at all for a lost workspace, as a client %s',
    async (kind, count, { refused }) => {
      const workspaces = Array.from({ length: count }, (_, index) => `team-${index}`)
      const person = await createChoosingPerson(server, world, workspaces)
      person.leaveOut = ['notes:write']
      person.workspace = 'team-1'
      const registered = kind === 'that was registered' && (await register(server, { client_name: 'Go' }))
      const client = startGoClient(server.mcpUrl, {
        id: registered ? registered.client_id : '',
        allow(url) {
          // The library asks for what the challenge names; applications that know the scopes of a server add them.
          if (person.seen.length === 0)
            url.searchParams.set('scope', 'mcp notes:read notes:write offline_access')
          return person.allow(url)
        },
      })
      try {
        const first = await client.call('where')
        let place = placeIn(first.text ?? '')
        expect(first.signIns).toBe(1)
        expect(place).toMatchObject({ email: person.email, scope: 'mcp notes:read', workspace: 'team-1' })
        for (let turn = 1; turn <= 3; turn += 1) {
          expect(await client.call('write')).toMatchObject({
            signIns: 1,
            failed: expect.stringContaining('Forbidden'),
          })
          expect(person.seen.at(-1)?.boxes).toEqual(refused)
          const next = await client.call('where')
          place = placeIn(next.text ?? '')
          expect(next.signIns).toBe(0)
          expect(place).toMatchObject({ scope: 'mcp notes:read', workspace: 'team-1' })
        }
        expect(await person.change(place.clientId, { scope: 'mcp', workspace: 'team-0' })).toContain(200)
        const { text = '' } = await client.call('where')
        expect(placeIn(text)).toEqual({ ...place, scope: 'mcp', workspace: 'team-0' })
        expect(await client.call('write')).toMatchObject({ signIns: 1 })

        world.list(person.email, ['others', 'strangers'])
        await until(async () => {
          const { signIns, failed = '' } = await client.call('where')
          expect(signIns).toBe(0)
          return failed.includes('Forbidden')
        }, 'the next check of the membership')
        expect(await client.call('where')).toMatchObject({ signIns: 0 })
      } finally {
        await client.close()
      }
    },
  )
})
