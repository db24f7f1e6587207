import { expect, it } from 'vitest'
import { chosenScope, type EarlierChoice, offerScopes } from './scope-choice.ts'

const optional = ['notes:read', 'notes:write']

it.each<[what: string, earlier: EarlierChoice | undefined, boxes: string[]]>([
  ['a new client', undefined, ['+notes:read', '+notes:write']],
  ['a client without any of them', { held: 'mcp', refused: [] }, ['+notes:read', '+notes:write']],
  ['a step-up', { held: 'mcp notes:read', refused: [] }, ['+notes:write']],
  [
    'a step-up to a scope left out before',
    { held: 'mcp notes:read', refused: ['notes:write'] },
    ['-notes:write'],
  ],
  ['a client that has all', { held: 'mcp notes:read notes:write', refused: [] }, []],
  [
    'a scope whose name begins with one of the grant',
    { held: 'mcp notes', refused: ['notes'] },
    ['+notes:read', '+notes:write'],
  ],
])('the scopes with a box, ticked or not, for %s', (_what, earlier, boxes) => {
  const offered = offerScopes(optional, earlier).map(({ scope, ticked }) => `${ticked ? '+' : '-'}${scope}`)
  expect(offered).toEqual(boxes)
})

it.each<[what: string, offered: string[], posted: string[], left: string | undefined]>([
  ['all ticked', optional, optional, 'mcp notes:read notes:write offline_access'],
  ['one ticked', optional, ['notes:write'], 'mcp notes:write offline_access'],
  ['none ticked', optional, [], 'mcp offline_access'],
  ['one held already', ['notes:write'], [], 'mcp notes:read offline_access'],
  [
    'one twice, and a fixed one',
    optional,
    ['notes:read', 'notes:read', 'mcp'],
    'mcp notes:read offline_access',
  ],
  ['no boxes', [], [], 'mcp notes:read notes:write offline_access'],
  ['one not asked for', optional, ['notes:read', 'notes:admin'], undefined],
  ['an empty one', optional, [''], undefined],
  ['two in one', optional, ['notes:read notes:write'], undefined],
])('what is left of the requested scope with %s', (_what, offered, posted, left) => {
  expect(chosenScope('mcp notes:read notes:write offline_access', offered, posted)).toBe(left)
})
