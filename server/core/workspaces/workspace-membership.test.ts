import { beforeEach, expect, it } from 'vitest'
import { createFakeRuntime, type FakeRuntime } from '../../../tests/support/server/fake-runtime.ts'
import { grantSample, start } from '../../../tests/support/server/core/grant-sample.ts'
import { signInSample } from '../../../tests/support/server/core/sign-in-sample.ts'
import type { Workspace } from '../session/grant.ts'
import { WorkspaceMembership } from './workspace-membership.ts'

const sales = { id: 'sales', name: 'Sales' }
const other = { id: 'other', name: 'Other' }
const checkSeconds = 300

let runtime: FakeRuntime
/** What the app answers, or fails with. */
let answer: readonly Workspace[] | Error
let asked: string[]
let reported: string[]

beforeEach(() => {
  runtime = createFakeRuntime(start)
  answer = [sales, other]
  asked = []
  reported = []
})

function membership(options: { checkSeconds?: number | undefined; none?: boolean } = { checkSeconds }) {
  return new WorkspaceMembership({
    list: options.none
      ? undefined
      : async ({ user, clientId, scope, providerToken }) => {
          asked.push([user.sub, clientId, scope, providerToken()].join(' '))
          if (answer instanceof Error) throw answer
          return answer
        },
    keeper: { open: ({ sealed }) => ({ ...signInSample('a').session, accessToken: `token of ${sealed}` }) },
    runtime,
    checkSeconds: options.checkSeconds,
    report: (_event, { message }) => void reported.push(message),
  })
}

const { grant, session } = grantSample('a', { workspace: sales })

it('membership is not asked at all without a workspace, and without a list', async () => {
  answer = []
  expect(await membership().isMember({ ...grant, workspace: undefined }, session)).toBe(true)
  expect(await membership({ none: true }).isMember(grant, session)).toBe(true)
  expect(asked).toEqual([])
})

it('membership holds from the sign-in, and is asked again once the check is due, as the user', async () => {
  const members = membership()
  expect(await members.isMember(grant, session)).toBe(true)
  expect(asked).toEqual([])
  runtime.advance(checkSeconds)
  expect(await members.isMember(grant, session)).toBe(true)
  expect(await members.isMember(grant, session)).toBe(true)
  expect(asked).toEqual(['a client a mcp offline_access token of sealed a 1'])
})

it.each<[what: string, checkSeconds: number | undefined]>([
  ['with a check', checkSeconds],
  ['without one', undefined],
])('membership is asked after each refresh of the session, %s', async (_what, seconds) => {
  const members = membership({ checkSeconds: seconds })
  answer = [other]
  expect(await members.isMember(grant, session)).toBe(true)
  expect(await members.isMember(grant, { ...session, version: 2 })).toBe(false)
  expect(await members.isMember(grant, { ...session, version: 2 })).toBe(false)
  expect(asked).toHaveLength(1)
  answer = [sales]
  expect(await members.isMember(grant, { ...session, version: 3 })).toBe(true)
})

it('without a check, membership is not asked between two refreshes', async () => {
  const members = membership({ checkSeconds: undefined })
  answer = []
  runtime.advance(29 * 86_400)
  expect(await members.isMember(grant, session)).toBe(true)
  expect(asked).toEqual([])
})

it('a lost membership is refused until the app lists the workspace again', async () => {
  const members = membership()
  runtime.advance(checkSeconds)
  answer = [other]
  expect(await members.isMember(grant, session)).toBe(false)
  answer = [sales]
  expect(await members.isMember(grant, session)).toBe(false)
  runtime.advance(checkSeconds)
  expect(await members.isMember(grant, session)).toBe(true)
})

it('another workspace of the same grant is asked about by itself', async () => {
  const members = membership()
  runtime.advance(checkSeconds)
  answer = [other]
  expect(await members.isMember(grant, session)).toBe(false)
  expect(await members.isMember({ ...grant, workspace: other }, session)).toBe(true)
})

it('a workspace is found by its id alone: exactly, whatever its name', async () => {
  const members = membership()
  runtime.advance(checkSeconds)
  answer = [{ id: 'sales', name: 'Renamed' }]
  expect(await members.isMember(grant, session)).toBe(true)
  answer = [{ id: 'Sales', name: 'Sales' }]
  runtime.advance(checkSeconds)
  expect(await members.isMember(grant, session)).toBe(false)
})

it('while the app cannot answer, the last answer stays, it is asked at most every 30 seconds, and the log says so', async () => {
  const members = membership()
  runtime.advance(checkSeconds)
  answer = new Error('down')
  expect(await members.isMember(grant, session)).toBe(true)
  expect(await members.isMember(grantSample('b', { workspace: sales }).grant, session)).toBe(true)
  expect(asked).toHaveLength(1)
  expect(reported).toEqual(['down'])
  runtime.advance(30)
  answer = [other]
  expect(await members.isMember(grant, session)).toBe(false)
  runtime.advance(checkSeconds)
  answer = new Error('down')
  expect(await members.isMember(grant, session)).toBe(false)
})

it('calls at once ask the app once', async () => {
  const members = membership()
  runtime.advance(checkSeconds)
  await Promise.all(Array.from({ length: 20 }, () => members.isMember(grant, session)))
  expect(asked).toHaveLength(1)
})
