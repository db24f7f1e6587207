import { describe, expect, it } from 'vitest'
import {
  mapClientCapabilities,
  mapServerCapabilities,
  missingCapability,
  neededCapability,
} from './capabilities.ts'

it.each([
  [undefined, {}],
  [[], {}],
  [{ tools: {}, tasks: {}, subscriptions: {} }, { tools: {} }],
  [{ tools: true, logging: null, prompts: 'yes' }, {}],
  [
    { resources: { subscribe: true, listChanged: false }, experimental: { x: {} } },
    { resources: { subscribe: true, listChanged: false }, experimental: { x: {} } },
  ],
  [{ extensions: { 'io.modelcontextprotocol/tasks': {}, 'a/b': {} } }, { extensions: { 'a/b': {} } }],
])('server capabilities: %j become %j', (given, mapped) => {
  expect(mapServerCapabilities(given)).toEqual(mapped)
})

it.each([
  [undefined, {}],
  [{ sampling: true, roots: false, elicitation: null }, { sampling: {} }],
  [
    { roots: { listChanged: true }, tasks: {}, own: { x: 1 } },
    { roots: {}, own: { x: 1 } },
  ],
  [{ elicitation: { form: {}, url: {} } }, { elicitation: { form: {}, url: {} } }],
])('client capabilities: %j become %j', (given, mapped) => {
  expect(mapClientCapabilities(given)).toEqual(mapped)
})

describe('the capability that a request to the client needs', () => {
  it.each([
    ['roots/list', undefined, {}, { roots: {} }],
    ['roots/list', undefined, { roots: {} }, undefined],
    ['sampling/createMessage', {}, { sampling: {} }, undefined],
    ['sampling/createMessage', { tools: [] }, { sampling: {} }, { sampling: { tools: {} } }],
    ['sampling/createMessage', { toolChoice: {} }, { sampling: { tools: {} } }, undefined],
    ['elicitation/create', {}, {}, { elicitation: { form: {} } }],
    ['elicitation/create', {}, { elicitation: {} }, undefined],
    ['elicitation/create', { mode: 'form' }, { elicitation: { form: {} } }, undefined],
    ['elicitation/create', {}, { elicitation: { url: {} } }, { elicitation: { form: {} } }],
    ['elicitation/create', { mode: 'url' }, { elicitation: {} }, { elicitation: { url: {} } }],
    ['elicitation/create', { mode: 'url' }, { elicitation: { url: {} } }, undefined],
  ])('%s %j of a client with %j misses %j', (method, params, declared, missing) => {
    expect(missingCapability(neededCapability(method, params)!, declared)).toEqual(missing)
  })

  it('other methods need no known capability', () => {
    expect(neededCapability('ping', {})).toBeUndefined()
  })
})
