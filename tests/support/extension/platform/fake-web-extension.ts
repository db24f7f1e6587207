import { vi } from 'vitest'
import { fakeBrowser } from 'wxt/testing/fake-browser'

/**
 * Adds functions to the browser interface that WXT's fake lacks. `vi.restoreAllMocks` removes them. `path` is like
 * `cookies.getAll`.
 */
export function provide(
  path: string,
  implementation: (...parameters: never[]) => unknown,
): ReturnType<typeof vi.fn> {
  const { target, name } = placeOf(path)
  return vi.spyOn(target, name).mockImplementation(implementation)
}

/** The browser's side of an event. */
export interface ProvidedEvent {
  emit(...parameters: unknown[]): void
  readonly listeners: number
}

/** Adds a browser event that the fake lacks: `emit` calls the listeners. */
export function provideEvent(path: string): ProvidedEvent {
  const { target, name } = placeOf(path)
  const known = new Set<(...parameters: unknown[]) => void>()
  Object.assign(target, {
    [name]: { addListener: known.add.bind(known), removeListener: known.delete.bind(known) },
  })
  return {
    emit(...parameters) {
      for (const listener of known) listener(...parameters)
    },
    get listeners() {
      return known.size
    },
  }
}

function placeOf(path: string): { target: Record<string, () => unknown>; name: string } {
  const [namespace = '', name = ''] = path.split('.')
  const target = (fakeBrowser as unknown as Record<string, Record<string, () => unknown>>)[namespace]
  if (target === undefined) throw new Error(`There is no ${namespace}.`)
  return { target, name }
}
