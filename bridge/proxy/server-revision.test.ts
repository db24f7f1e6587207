import { describe, expect, it } from 'vitest'
import { RememberedServer } from '../transport/server-memory.ts'
import { type RevisionPorts, ServerRevision } from './server-revision.ts'

function create(pin: 'auto' | 'legacy' | 'modern' = 'auto') {
  const notes: string[] = []
  const remembered = new RememberedServer({ read: () => undefined, write() {} })
  const ports = { remembered, note: (text: string) => void notes.push(text) } as unknown as RevisionPorts
  return { remembered, notes, revision: new ServerRevision(pin, ports) }
}

describe('the revision of a server', () => {
  it.each([
    ['legacy', 'modern'],
    ['modern', 'legacy'],
  ] as const)('the revision of a server is not switched from %s to %s once it is proven', (proven, other) => {
    const { notes, remembered, revision } = create()
    remembered.onSeen(proven)
    expect(revision.switchTo(other)).toBe(false)
    expect([revision.proven, revision.serving, notes]).toEqual([proven, proven, []])
    expect(revision.switchTo(proven)).toBe(true)
  })

  it.each([
    ['legacy', 'modern'],
    ['modern', 'legacy'],
  ] as const)(
    'the revision of a server is not switched from %s to %s when a flag has set it',
    (pin, other) => {
      const { remembered, revision } = create(pin)
      expect(revision.switchTo(other)).toBe(false)
      remembered.onSeen(other)
      expect([revision.proven, revision.serving]).toEqual([pin, pin])
    },
  )

  it('the revision of a server is switched while it is only assumed, and proven by a switch to 2026-07-28', () => {
    const { notes, revision } = create()
    expect(revision.serving).toBe('legacy')
    expect(revision.switchTo('modern')).toBe(true)
    expect([revision.proven, revision.serving]).toEqual(['modern', 'modern'])
    expect(notes).toEqual(['the server does not speak the legacy revision'])
    expect(revision.switchTo('legacy')).toBe(false)
  })
})
