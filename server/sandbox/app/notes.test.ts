import { mkdtempSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { randomBytes } from 'node:crypto'
import { DatabaseSync } from 'node:sqlite'
import { afterAll, describe, expect, it } from 'vitest'
import { openNotes, parseNoteText } from './notes.ts'

const folder = mkdtempSync(join(tmpdir(), 'fieldnotes-'))
afterAll(() => rmSync(folder, { recursive: true }))

const runtime = { now: () => 1_800_000_000, randomBytes: (length: number) => randomBytes(length) }

describe('notes', () => {
  it('are there again after a restart, readable by their owner only', () => {
    const path = join(folder, 'nested', 'notes.db')
    const before = openNotes(path, runtime)
    const note = before.add('ada', 'line one\nline two 🌉')
    before.close()
    const after = openNotes(path, runtime)
    expect(after.list('ada')).toEqual([{ ...note, created_at: '2027-01-15T08:00:00.000Z' }])
    expect(after.list('eve')).toEqual([])
    expect(after.remove('eve', note.id)).toBe(false)
    expect(after.remove('ada', note.id)).toBe(true)
    expect(after.remove('ada', note.id)).toBe(false)
    after.close()
    expect(statSync(path).mode & 0o077).toBe(0)
  })

  it('of one second stay in the order of writing, newest first', () => {
    const notes = openNotes(':memory:', runtime)
    for (const text of ['one', 'two', 'three']) notes.add('ada', text)
    expect(notes.list('ada').map(({ text }) => text)).toEqual(['three', 'two', 'one'])
    notes.close()
  })

  it('of a newer version are left alone', () => {
    const path = join(folder, 'newer.db')
    const file = new DatabaseSync(path)
    file.exec('PRAGMA user_version = 99')
    file.close()
    expect(() => openNotes(path, runtime)).toThrow(/newer version/)
  })
})

describe('the text of a note', () => {
  it.each([
    [' a ', 'a'],
    ['a\r\nb', 'a\nb'],
    ['', undefined],
    [' \r\n ', undefined],
    [undefined, undefined],
    [1, undefined],
    [['a'], undefined],
    ['x'.repeat(2000), 'x'.repeat(2000)],
    ['x'.repeat(2001), undefined],
    [`${'\r\n'.repeat(2000)}x`, 'x'],
  ])('%j is read as %j', (value, text) => {
    expect(parseNoteText(value)).toBe(text)
  })
})
