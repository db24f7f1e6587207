import { setTimeout as delay } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createChance } from '../fuzz/chance.ts'
import { createPerson, type Person } from './person.ts'
import { callTool, type PlainClient, registerPlainClient, type Tokens } from './plain-client.ts'
import { type ServerProcess, startServer } from './server-process.ts'
import { until } from '../support/until.ts'

const rounds = 3
const connections = 3
const tokenSeconds = 5

let server: ServerProcess
let person: Person

beforeAll(async () => {
  // Provider tokens live so briefly that the kills also hit the moments of replacement, yet long enough to be replaced before they
  // expire in use. Short access tokens may be refreshed more often.
  server = await startServer({ EMBEDDED_TOKEN_TTL: `${tokenSeconds}s`, ACCESS_TOKEN_TTL: '10s' })
  person = await createPerson(server)
})
afterAll(() => server?.close())

/** Returns whether the connection was lost: the server was killed before or during its response. Everything else is a real failure. */
function isConnectionLoss(error: unknown): boolean {
  return error instanceof TypeError && /fetch failed|terminated/.test(error.message)
}

/** One connected client, which remembers only its last complete response. */
interface Connection {
  client: PlainClient
  tokens: Tokens
  refreshes: number
}

/** Refreshes with the current token and calls a tool, until the connection is lost or `stopped` returns true. */
async function keepWorking(connection: Connection, stopped: () => boolean): Promise<void> {
  try {
    while (!stopped()) {
      const response = await connection.client.refresh(connection.tokens.refresh_token)
      const body = await response.text()
      if (response.status === 429) {
        await delay(50)
        continue
      }
      if (response.status !== 200) throw new Error(`A refresh answered ${response.status}: ${body}`)
      connection.tokens = JSON.parse(body) as Tokens
      connection.refreshes += 1
      await callTool(server, connection.tokens.access_token, 'list_notes')
    }
  } catch (error) {
    if (!isConnectionLoss(error)) throw error
  }
}

describe('kill -9', () => {
  it(
    'a kill at any moment loses no connection: clients go on with their tokens',
    { timeout: 60_000 },
    async () => {
      const all: Connection[] = []
      for (let index = 0; index < connections; index += 1) {
        const client = await registerPlainClient(server)
        all.push({ client, tokens: await client.connect(person), refreshes: 0 })
      }
      await callTool(server, all[0]?.tokens.access_token ?? '', 'add_note', { text: 'survives' })

      const chance = createChance(20_261_121)
      for (let round = 0; round < rounds; round += 1) {
        const total = (): number => all.reduce((sum, { refreshes }) => sum + refreshes, 0)
        const before = total()
        let stopped = false
        const work = all.map((connection) => keepWorking(connection, () => stopped))
        await until(() => total() > before, 'a refresh')
        await delay(chance.below(400))
        const exit = await server.kill('SIGKILL')
        stopped = true
        expect(exit.signal).toBe('SIGKILL')
        await Promise.all(work)
        await server.start()
      }

      // However fast the rounds went: from here on the provider's tokens have expired.
      await delay(tokenSeconds * 1000)
      for (const { client, tokens } of all) {
        const refreshed = await client.refresh(tokens.refresh_token)
        expect(refreshed.status).toBe(200)
        const { access_token: accessToken, refresh_token: refreshToken } = (await refreshed.json()) as Tokens
        expect(await callTool(server, accessToken, 'whoami')).toContain(person.email)
        expect(await callTool(server, accessToken, 'list_notes')).toContain('survives')
        expect((await client.refresh(refreshToken)).status).toBe(200)
      }
      await until(() => server.events('provider_refreshed').length > 0, 'the log of a refresh')
      expect(server.events('provider_session_ended')).toEqual([])
    },
  )

  it(
    'a kill right after an answer loses nothing of the answer: notes, clients, codes, tokens, open login pages',
    { timeout: 60_000 },
    async () => {
      const restart = async (): Promise<void> => {
        await server.kill('SIGKILL')
        await server.start()
      }
      const client = await registerPlainClient(server)
      const code = await client.code(person)
      const openLoginPage = await person.browser.visit(client.authorizationUrl)
      await restart()
      const tokens = (await (await client.redeem(code)).json()) as Tokens
      await callTool(server, tokens.access_token, 'add_note', { text: 'still here' })
      await restart()
      expect(await callTool(server, tokens.access_token, 'list_notes')).toContain('still here')
      const refreshed = (await (await client.refresh(tokens.refresh_token)).json()) as Tokens
      await restart()
      expect(await callTool(server, refreshed.access_token, 'whoami')).toContain(person.email)
      // The response to a refresh can be repeated, as if it had been lost.
      const again = (await (await client.refresh(tokens.refresh_token)).json()) as Tokens
      expect(again.refresh_token).toBe(refreshed.refresh_token)
      const { email, password, browser } = person
      const { url } = await browser.submit(openLoginPage, 'password', { email, password })
      expect(url.searchParams.get('code')).not.toBeNull()
    },
  )
})
