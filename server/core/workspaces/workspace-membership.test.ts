import { beforeEach, expect, it, vi } from 'vitest'
import { createSignal, type Signal } from '@drawbridge/shared/async.ts'
import { createFakeRuntime, type FakeRuntime } from '../../../tests/support/server/fake-runtime.ts'
import { grantSample, start } from '../../../tests/support/server/core/grant-sample.ts'
import { signInSample } from '../../../tests/support/server/core/sign-in-sample.ts'
import type { Workspace } from '../session/grant.ts'
import { createWorkspaceList } from './workspace-list.ts'
import { WorkspaceMembership } from './workspace-membership.ts'

const sales = { id: 'sales', name: 'Sales' }
const other = { id: 'other', name: 'Other' }
const checkSeconds = 300

let runtime: FakeRuntime
/** What the app answers, or fails with. */
let answer: readonly Workspace[] | Error
let asked: string[]
/** The app answers when it resolves. */
let hangs: Signal | undefined
let reported: string[]

beforeEach(() => {
  runtime = createFakeRuntime(start)
  answer = [sales, other]
  asked = []
  hangs = undefined
  reported = []
})

function membership(options: { checkSeconds?: number | undefined; none?: boolean } = { checkSeconds }) {
  return new WorkspaceMembership({
    list: options.none
      ? undefined
      : createWorkspaceList(
          async ({ user, clientId, scope, providerToken }) => {
            asked.push([user.sub, clientId, scope, providerToken()].join(' '))
            await hangs?.given
            if (answer instanceof Error) throw answer
            return answer
          },
          (_event, { message }) => void reported.push(message),
        ),
    keeper: { open: ({ sealed }) => ({ ...signInSample('a').session, accessToken: `token of ${sealed}` }) },
    runtime,
    checkSeconds: options.checkSeconds,
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

it('a slow app is asked once at a time about a grant, also when the next check is due and the session was refreshed', async () => {
  vi.useFakeTimers()
  try {
    const members = membership({ checkSeconds: 1 })
    hangs = createSignal()
    answer = [other]
    for (let version = 1; version <= 3; version += 1) {
      runtime.advance(2)
      const asking = members.isMember(grant, { ...session, version })
      await vi.advanceTimersByTimeAsync(2000)
      expect(await asking).toBe(true)
    }
    expect(asked).toHaveLength(1)
    hangs.give()
    await vi.advanceTimersByTimeAsync(0)
    expect(await members.isMember(grant, { ...session, version: 3 })).toBe(false)
    expect(asked).toHaveLength(2)
  } finally {
    vi.useRealTimers()
  }
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
  runtime.advance(29)
  expect(await members.isMember(grant, session)).toBe(true)
  expect(asked).toHaveLength(1)
  expect(reported).toEqual(['down'])
  runtime.advance(1)
  answer = [other]
  expect(await members.isMember(grant, session)).toBe(false)
  runtime.advance(checkSeconds)
  answer = new Error('down')
  expect(await members.isMember(grant, session)).toBe(false)
})

it('a former member stays one when the session is refreshed while the app is down', async () => {
  const members = membership()
  runtime.advance(checkSeconds)
  answer = [other]
  expect(await members.isMember(grant, session)).toBe(false)
  answer = new Error('down')
  expect(await members.isMember(grant, { ...session, version: 2 })).toBe(false)
})

it.each<[what: string, hostile: readonly Workspace[] | Error]>([
  ['fails', new Error('down')],
  ['is of another form', 'nothing' as unknown as Workspace[]],
])(
  "a user whose list %s does not keep another user's membership from being checked",
  async (_what, hostile) => {
    const members = membership()
    runtime.advance(checkSeconds)
    answer = hostile
    const { grant: theirs } = grantSample('b', { workspace: sales })
    expect(await members.isMember(theirs, session)).toBe(true)
    answer = [other]
    expect(await members.isMember(grant, session)).toBe(false)
  },
)

it('a call waits two seconds for an app that hangs, whose answer counts when it comes', async () => {
  vi.useFakeTimers()
  try {
    const members = membership()
    runtime.advance(checkSeconds)
    answer = [other]
    hangs = createSignal()
    const answers: boolean[] = []
    const calls = [grant, grant].map(async (of) => void answers.push(await members.isMember(of, session)))
    await vi.advanceTimersByTimeAsync(1999)
    expect(answers).toEqual([])
    await vi.advanceTimersByTimeAsync(1)
    await Promise.all(calls)
    expect(answers).toEqual([true, true])
    hangs.give()
    await vi.advanceTimersByTimeAsync(0)
    expect(await members.isMember(grant, session)).toBe(false)
    expect(asked).toHaveLength(1)
  } finally {
    vi.useRealTimers()
  }
})

it('a late call with an older session does not ask again', async () => {
  const members = membership()
  expect(await members.isMember(grant, { ...session, version: 2 })).toBe(true)
  expect(await members.isMember(grant, session)).toBe(true)
  expect(asked).toHaveLength(1)
})

it('a list that lies, with other ids each time, refuses and lets in by its last answer', async () => {
  const members = membership()
  const seen: boolean[] = []
  for (let round = 0; round < 6; round += 1) {
    runtime.advance(checkSeconds)
    answer = round % 2 === 0 ? [{ id: `made up ${round}`.replaceAll(' ', '-'), name: 'x' }] : [sales]
    seen.push(await members.isMember(grant, session), await members.isMember(grant, session))
  }
  expect(seen).toEqual([false, false, true, true, false, false, true, true, false, false, true, true])
  expect(asked).toHaveLength(6)
})

it('calls at once ask the app once', async () => {
  const members = membership()
  runtime.advance(checkSeconds)
  await Promise.all(Array.from({ length: 20 }, () => members.isMember(grant, session)))
  expect(asked).toHaveLength(1)
})
