import { describe, expect, it } from 'vitest'
import {
  acceptsNotification,
  announcedFilter,
  honouredFilter,
  isChangeNotification,
  isEmptyFilter,
  readSubscriptionFilter,
} from './subscription-filter.ts'

it.each([
  [{}, {}],
  [{ toolsListChanged: true, promptsListChanged: false, more: 1 }, { toolsListChanged: true }],
  [{ resourceSubscriptions: ['a', 'b', 'a'] }, { resourceSubscriptions: ['a', 'b'] }],
  [{ resourceSubscriptions: [] }, {}],
  [undefined, undefined],
  [null, undefined],
  [[], undefined],
  [{ toolsListChanged: 'true' }, undefined],
  [{ resourceSubscriptions: {} }, undefined],
  [{ resourceSubscriptions: ['a', null] }, undefined],
])('readSubscriptionFilter: %j is %j', (value, filter) => {
  expect(readSubscriptionFilter(value)).toEqual(filter)
})

it('announcedFilter and honouredFilter follow the capabilities', () => {
  const capabilities = {
    tools: { listChanged: true },
    prompts: {},
    resources: { listChanged: 1, subscribe: true },
  }
  expect(announcedFilter(capabilities)).toEqual({ toolsListChanged: true })
  const all = { toolsListChanged: true, promptsListChanged: true, resourceSubscriptions: ['a'] } as const
  expect(honouredFilter(all, capabilities)).toEqual({ toolsListChanged: true, resourceSubscriptions: ['a'] })
  expect(honouredFilter(all, {})).toEqual({})
  expect(isEmptyFilter({ resourceSubscriptions: [] })).toBe(true)
  expect(isEmptyFilter(all)).toBe(false)
})

describe('acceptsNotification', () => {
  const notice = (kind: string, uri?: unknown) =>
    ({ jsonrpc: '2.0', method: `notifications/${kind}`, params: { uri } }) as const
  const filter = { toolsListChanged: true, resourceSubscriptions: ['x:a', 'x:d/'] } as const
  it.each([
    ['tools/list_changed', undefined, true],
    ['prompts/list_changed', undefined, false],
    ['resources/updated', 'x:a', true],
    ['resources/updated', 'x:a/b', true],
    ['resources/updated', 'x:ab', false],
    ['resources/updated', 'x:d/e', true],
    ['resources/updated', 'x:d', false],
    ['resources/updated', undefined, false],
    ['message', undefined, false],
  ])('%s %s: %s', (kind, uri, accepted) => {
    expect(acceptsNotification(filter, notice(kind, uri))).toBe(accepted)
    expect(isChangeNotification(notice(kind))).toBe(kind !== 'message')
  })
})
