import { describe, expect, it } from 'vitest'
import { proveEntryEdit } from './entry-edit.ts'
import { TextFaultError } from './text.ts'

const json = { format: 'json', keys: ['mcpServers'] } as const
const toml = { format: 'toml', keys: ['mcp_servers'] } as const

describe('an edit', () => {
  it.each([
    ['adds the entry', json, '{"a":1}', '{"a":1,"mcpServers":{"me":{"b":[1]}}}', { b: [1] }],
    ['changes the layout alone', json, '{"a":1}', '{ "mcpServers": { "me": 1 }, // c\n "a": 1 }', 1],
    ['takes the entry out', json, '{"mcpServers":{"me":1}}', '{"mcpServers":{}}', undefined],
    ['takes the list out with the last', toml, '[mcp_servers.me]\na=1', '', undefined],
    ['adds a table', toml, 'd = 1979-05-27', 'd = 1979-05-27\n[mcp_servers.me]\na = "b"', { a: 'b' }],
  ])('that %s is taken', (_, place, before, after, entry) => {
    expect(() => proveEntryEdit(before, after, place, 'me', entry)).not.toThrow()
  })

  it.each([
    ['loses another member', json, '{"a":1,"b":2}', '{"a":1,"mcpServers":{"me":1}}', 1],
    ['loses another entry', json, '{"mcpServers":{"b":2}}', '{"mcpServers":{"me":1}}', 1],
    ['changes another value', json, '{"a":[1,2]}', '{"a":[2,1],"mcpServers":{"me":1}}', 1],
    ['writes another entry', json, '{}', '{"mcpServers":{"me":2}}', 1],
    ['does not take it out', json, '{"mcpServers":{"me":1}}', '{"mcpServers":{"me":1}}', undefined],
    ['loses one of two equal keys', json, '{"a":1,"a":1}', '{"a":1,"mcpServers":{"me":1}}', 1],
    ['loses a key called __proto__', json, '{"__proto__":1}', '{"mcpServers":{"me":1}}', 1],
    ['takes out an empty object elsewhere', json, '{"a":{}}', '{"mcpServers":{"me":1}}', 1],
    ['is not JSON', json, '{}', '{', 1],
    ['is not TOML', toml, '', 'a =', {}],
    ['changes a date', toml, 'd = 1979-05-27', 'd = 1979-05-28\n[mcp_servers.me]', {}],
    ['loses a table', toml, '[mcp_servers.b]', '[mcp_servers.me]', {}],
  ])('that %s is not', (_, place, before, after, entry) => {
    expect(() => proveEntryEdit(before, after, place, 'me', entry)).toThrow(TextFaultError)
  })
})
