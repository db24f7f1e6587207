import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Visit } from '../support/server/browser.ts'
import { createPerson, type Person, personOf } from './person.ts'
import type { ServerAddress } from './server-process.ts'

/** How long the web app's page uses a token of the provider, whose tokens may live for some seconds only. */
const tokenUseMs = 3000

/** What a tool call was for, as the tools of `choice-tools.ts` say it. */
export interface Place {
  email: string
  clientId: string
  scope: string
  workspace?: string
}

/** Returns the place in the text of a tool's result. */
export function placeIn(text: string): Place {
  return JSON.parse(text.slice(text.indexOf('{'))) as Place
}

/** The workspaces of a web app by email address, in a file that its servers read. */
export interface ChoiceWorld {
  settings: { TOOLS: string }
  environment: { WORKSPACES: string }
  /** Replaces the workspaces of a user. */
  list(email: string, ids: readonly string[]): void
}

/** Creates a world without workspaces in `folder`. */
export function createChoiceWorld(folder: string): ChoiceWorld {
  const file = join(folder, 'workspaces.json')
  writeFileSync(file, '{}')
  return {
    settings: { TOOLS: fileURLToPath(new URL('choice-tools.ts', import.meta.url)) },
    environment: { WORKSPACES: file },
    list(email, ids) {
      const known = JSON.parse(readFileSync(file, 'utf8')) as object
      writeFileSync(file, JSON.stringify({ ...known, [email]: ids }))
    },
  }
}

/** A connection as the web app's own page gets it. */
interface Connection {
  id: string
  client: { id: string }
  scope: string
  workspace: { id: string } | null
}

/** A person who chooses at the door, and changes connections on the web app's own page. */
export interface ChoosingPerson extends Person {
  /** Scopes to untick at the next sign-ins, and to tick where a box is not ticked. Other boxes stay as they come. */
  leaveOut: readonly string[]
  tick: readonly string[]
  /** The workspace to choose where the page asks. */
  workspace: string
  /** What each sign-in showed: boxes as `+scope` or `-scope`, and the workspaces to choose from; `*` is before a chosen one. */
  readonly seen: { boxes: string[]; workspaces: string[] }[]
  connections(): Promise<Connection[]>
  /** Sends a request to the API of the web app's own page. */
  manage(method: 'GET' | 'PATCH' | 'DELETE', id?: string, body?: object): Promise<Response>
  /** Changes the connections of a client; each sign-in, a step-up too, made one. Returns the statuses. */
  change(clientId: string, to: { scope?: string; workspace?: string }): Promise<number[]>
}

/** Creates a person who is in `workspaces`, and chooses the first; of an `account` that exists, in another browser. */
export async function createChoosingPerson(
  server: ServerAddress,
  world: ChoiceWorld,
  workspaces: readonly string[],
  account?: { email: string; password: string },
): Promise<ChoosingPerson> {
  const person = account ? personOf(server, account) : await createPerson(server)
  world.list(person.email, workspaces)
  const tokens = { at: -Infinity, latest: '' }
  const send: ChoosingPerson['manage'] = async (method, id, body) => {
    const now = performance.now()
    if (now - tokens.at > tokenUseMs)
      Object.assign(tokens, { at: now, latest: await providerToken(server, person) })
    return server.fetch(`${server.baseUrl}/account/api/connections${id === undefined ? '' : `/${id}`}`, {
      method,
      headers: {
        authorization: `Bearer ${tokens.latest}`,
        ...(body && { 'content-type': 'application/json' }),
      },
      ...(body && { body: JSON.stringify(body) }),
    })
  }
  const choosing: ChoosingPerson = {
    ...person,
    leaveOut: [],
    tick: [],
    workspace: workspaces[0] ?? '',
    seen: [],
    manage: send,
    async allow(authorizationUrl) {
      const { browser, email, password } = person
      const login = await browser.visit(authorizationUrl)
      const boxes = optionsIn(login, 'checkbox')
      const { leaveOut, tick } = choosing
      const scope = boxes.flatMap(({ on, value }) =>
        tick.includes(value) || (on && !leaveOut.includes(value)) ? value : [],
      )
      let page = await browser.submit(login, 'password', { email, password, scope })
      const radios = optionsIn(page, 'radio')
      choosing.seen.push({
        boxes: boxes.map(({ on, value }) => `${on ? '+' : '-'}${value}`),
        workspaces: radios.map(({ on, value }) => `${on ? '*' : ''}${value}`),
      })
      if (radios.length > 0) page = await browser.submit(page, 'workspace', { workspace: choosing.workspace })
      if (page.response)
        throw new Error(`Signing in ended at ${page.url.pathname} with ${page.status}: ${page.html}`)
      return page.url
    },
    async connections() {
      const answer = await send('GET')
      return ((await answer.json()) as { connections: Connection[] }).connections
    },
    async change(clientId, to) {
      const own = (await choosing.connections()).filter(({ client }) => client.id === clientId)
      return Promise.all(own.map(async ({ id }) => (await send('PATCH', id, to)).status))
    },
  }
  return choosing
}

function optionsIn({ html }: Visit, type: 'checkbox' | 'radio'): { value: string; on: boolean }[] {
  return [...html.matchAll(new RegExp(`<input\\s+type="${type}"([^>]*)>`, 'g'))].map(([, given = '']) => ({
    value: /value="([^"]*)"/.exec(given)?.[1] ?? '',
    on: /\schecked/.test(given),
  }))
}

async function providerToken(server: ServerAddress, { email, password }: Person): Promise<string> {
  const answer = await server.fetch(`${server.appUrl}/auth/v1/token?grant_type=password`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ email, password }),
  })
  return ((await answer.json()) as { access_token: string }).access_token
}
