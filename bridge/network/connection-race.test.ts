import { describe, expect, it } from 'vitest'
import { mayGoOutAgain } from './connection-race.ts'

describe('mayGoOutAgain', () => {
  it.each([
    { name: 'GET', method: 'GET', written: true, afterMs: 500, quickestTripMs: 20, again: true },
    {
      name: 'DELETE',
      method: 'DELETE',
      written: true,
      afterMs: 500,
      quickestTripMs: undefined,
      again: true,
    },
    {
      name: 'POST, not written whole',
      method: 'POST',
      written: false,
      afterMs: 500,
      quickestTripMs: 1,
      again: true,
    },
    {
      name: 'POST, too soon for an effect',
      method: 'POST',
      written: true,
      afterMs: 9,
      quickestTripMs: 20,
      again: true,
    },
    {
      name: 'POST, half a round trip',
      method: 'POST',
      written: true,
      afterMs: 10,
      quickestTripMs: 20,
      again: false,
    },
    {
      name: 'POST, a whole one',
      method: 'POST',
      written: true,
      afterMs: 20,
      quickestTripMs: 20,
      again: false,
    },
    { name: 'POST, nearby', method: 'POST', written: true, afterMs: 0.1, quickestTripMs: 3, again: false },
    {
      name: 'POST, distance unknown',
      method: 'POST',
      written: true,
      afterMs: 0,
      quickestTripMs: undefined,
      again: false,
    },
  ])('$name: $again', ({ again, ...ended }) => expect(mayGoOutAgain(ended)).toBe(again))
})
