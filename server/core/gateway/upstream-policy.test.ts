import { expect, test } from 'vitest'
import { offersUpstreamTool, scopeOfTool } from './upstream-policy.ts'

test.each([
  { allow: ['*'], deny: [], offered: true },
  { allow: ['notes_*'], deny: [], offered: true },
  { allow: ['notes_list'], deny: [], offered: false },
  { allow: [], deny: [], offered: false },
  { allow: ['*'], deny: ['*_delete'], offered: false },
  { allow: ['notes_delete'], deny: ['*'], offered: false },
  { allow: ['other', '*delete'], deny: ['other'], offered: true },
])('notes_delete with allow $allow and deny $deny: $offered', ({ allow, deny, offered }) => {
  expect(offersUpstreamTool({ allow, deny }, 'notes_delete')).toBe(offered)
})

test('the first pattern that matches says which scope a tool takes', () => {
  const scopes = [
    ['delete_all', 'notes:admin'],
    ['delete_*', 'notes:write'],
    ['*_all', 'notes:read'],
  ] as const
  expect(scopeOfTool({ scopes }, 'delete_all')).toBe('notes:admin')
  expect(scopeOfTool({ scopes }, 'delete_one')).toBe('notes:write')
  expect(scopeOfTool({ scopes }, 'list_all')).toBe('notes:read')
  expect(scopeOfTool({ scopes }, 'whoami')).toBeUndefined()
})
