import { beforeEach, describe, expect, it } from 'vitest'
import { createFakeRuntime } from '../../../tests/support/server/fake-runtime.ts'
import {
  addGrant,
  grantSample,
  grantSeconds,
  start,
} from '../../../tests/support/server/core/grant-sample.ts'
import { signInSample } from '../../../tests/support/server/core/sign-in-sample.ts'
import { openMemoryStore } from '../../store/sqlite/sqlite.ts'
import type { Store } from '../store.ts'
import { ScopeCatalogue } from '../tokens/scope.ts'
import { createWorkspaceList } from '../workspaces/workspace-list.ts'
import { changeOwnGrant, type GrantChangePorts, type WantedChange, workspacesOf } from './grant-change.ts'
import type { Grant } from './grant.ts'
import type { KeptSession } from './served-session.ts'

const scope = 'mcp notes:read notes:write offline_access'
const sales = { id: 'sales', name: 'Sales' }
const legal = { id: 'legal', name: 'Legal' }

let store: Store
let ports: GrantChangePorts
let grant: Grant
let kept: KeptSession | undefined
let listed: unknown
let asked: string[]

beforeEach(async () => {
  store = openMemoryStore()
  kept = undefined
  listed = [sales, legal]
  asked = []
  const runtime = createFakeRuntime(start)
  ports = {
    store,
    runtime,
    scopes: new ScopeCatalogue({ 'notes:read': 'Read', 'notes:write': 'Write' }),
    keeper: {
      keep: async (session) => kept ?? { kind: 'live', session },
      open: ({ sealed }) => ({ ...signInSample('a').session, accessToken: `token of ${sealed}` }),
    },
    workspaces: createWorkspaceList(
      async ({ user, providerToken }) => {
        asked.push(`${user.sub} ${providerToken()}`)
        return listed
      },
      () => {},
    ),
  }
  ;({ grant } = await addGrant(store, grantSample('a', { scope, workspace: sales })))
})

const change = (wanted: WantedChange, userId = grant.user.id) =>
  changeOwnGrant('grant a', userId, wanted, ports)
const stored = async (): Promise<unknown> => {
  const found = (await store.findGrant('grant a'))?.grant
  return [found?.scope, found?.workspace?.id]
}

it.each<[what: string, wanted: WantedChange, scope: string, workspace: string]>([
  ['one scope less', { scope: ['mcp', 'notes:read'] }, 'mcp notes:read offline_access', 'sales'],
  ['no optional scope, and the fixed ones left out', { scope: [] }, 'mcp offline_access', 'sales'],
  ['the fixed one alone', { scope: ['mcp'] }, 'mcp offline_access', 'sales'],
  ['another workspace', { workspaceId: 'legal' }, scope, 'legal'],
  ['both', { scope: ['notes:write'], workspaceId: 'legal' }, 'mcp notes:write offline_access', 'legal'],
])('a user changes their grant to %s', async (_what, wanted, narrowed, workspace) => {
  expect(await change(wanted)).toMatchObject({
    kind: 'changed',
    grant: { scope: narrowed, workspace: { id: workspace } },
  })
  expect(await stored()).toEqual([narrowed, workspace])
})

it.each<[what: string, wanted: WantedChange]>([
  ['nothing', {}],
  ['all scopes', { scope: scope.split(' ') }],
  ['the same workspace', { workspaceId: 'sales' }],
])('a wish for %s changes nothing, and asks the app nothing', async (_what, wanted) => {
  expect(await change(wanted)).toMatchObject({ kind: 'unchanged' })
  expect(await stored()).toEqual([scope, 'sales'])
  expect(asked).toEqual([])
})

it.each<[what: string, wanted: WantedChange, kind: string]>([
  ['a scope that the grant has not', { scope: ['mcp', 'notes:admin'] }, 'scope'],
  ['an empty scope', { scope: [''] }, 'scope'],
  ['two scopes in one text', { scope: ['notes:read notes:write'] }, 'scope'],
  ['a workspace of somebody else', { workspaceId: 'other' }, 'workspace'],
  ['an empty workspace', { workspaceId: '' }, 'workspace'],
  ['a scope less and a workspace of somebody else', { scope: [], workspaceId: 'other' }, 'workspace'],
])('a wish for %s is refused as a whole', async (_what, wanted, kind) => {
  expect(await change(wanted)).toMatchObject({ kind })
  expect(await stored()).toEqual([scope, 'sales'])
})

it('a grant from before the app listed workspaces gets the one that its user chooses', async () => {
  await addGrant(store, grantSample('old', { user: grant.user, scope, workspace: undefined }))
  await changeOwnGrant('grant old', grant.user.id, { workspaceId: 'legal' }, ports)
  expect((await store.findGrant('grant old'))?.grant.workspace).toEqual(legal)
})

it('a scope once taken back cannot be had again', async () => {
  await change({ scope: ['notes:read'] })
  expect(await change({ scope: ['notes:read', 'notes:write'] })).toMatchObject({ kind: 'scope' })
})

describe('a grant that a user cannot change', () => {
  it.each<[what: string, prepare: () => unknown]>([
    ['has ended', () => store.endGrant('grant a', 'revoked_by_user', start)],
    ['has expired', () => void (ports = { ...ports, runtime: createFakeRuntime(start + grantSeconds) })],
  ])('a grant that %s is gone', async (_what, prepare) => {
    await prepare()
    expect(await change({ scope: [] })).toEqual({ kind: 'gone' })
  })

  it('a grant of another user, and one that is unknown, are gone', async () => {
    expect(await change({ scope: [] }, 'https://provider#b')).toEqual({ kind: 'gone' })
    expect(await changeOwnGrant('grant b', grant.user.id, { scope: [] }, ports)).toEqual({ kind: 'gone' })
    expect(await stored()).toEqual([scope, 'sales'])
  })
})

it('workspaces are listed as the user, with the token of the grant', async () => {
  expect(await workspacesOf(grant, ports)).toEqual([sales, legal])
  expect(asked).toEqual(['a token of sealed a 1'])
  expect(await workspacesOf(grant, { ...ports, workspaces: undefined })).toEqual([])
})

it.each<[what: string, prepare: () => void]>([
  ['the session is refused for now', () => (kept = { kind: 'unavailable', retryAfterSeconds: 5 })],
  ['the session has ended', () => (kept = { kind: 'ended' })],
  ['the app fails', () => (listed = 'nothing')],
])('another workspace is not chosen while %s, and no scope is taken back with it', async (_what, prepare) => {
  prepare()
  expect(await change({ scope: [], workspaceId: 'legal' })).toMatchObject({
    kind: 'unavailable',
    grant: { id: 'grant a' },
  })
  expect(await stored()).toEqual([scope, 'sales'])
  expect(await change({ scope: [] })).toMatchObject({ kind: 'changed' })
})

it('changes at once never give back what one of them took', async () => {
  const results = await Promise.all([
    change({ scope: ['notes:read'] }),
    change({ workspaceId: 'legal' }),
    change({ scope: ['notes:write'] }),
    change({ workspaceId: 'legal' }),
  ])
  expect(results.map(({ kind }) => kind).filter((kind) => kind === 'scope').length).toBeLessThanOrEqual(1)
  const [left, workspace] = (await stored()) as [string, string]
  expect(workspace).toBe('legal')
  expect(['mcp notes:read offline_access', 'mcp notes:write offline_access']).toContain(left)
})
