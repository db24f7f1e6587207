import { vi } from 'vitest'
import { fakeBrowser } from 'wxt/testing/fake-browser'

/**
 * The part of the browser's interface that WXT's fake does not have: put functions of the test's own in its place. They are
 * taken away by `vi.restoreAllMocks`. `path` is such as `cookies.getAll`.
 */
export function provide(
  path: string,
  implementation: (...parameters: never[]) => unknown,
): ReturnType<typeof vi.fn> {
  const [namespace = '', name = ''] = path.split('.')
  const target = (fakeBrowser as unknown as Record<string, Record<string, () => unknown>>)[namespace]
  if (target === undefined) throw new Error(`There is no ${namespace}.`)
  return vi.spyOn(target, name).mockImplementation(implementation)
}

/** An event, from the side of the browser. */
export interface ProvidedEvent {
  emit(...parameters: unknown[]): void
  readonly listeners: number
}

/** An event of the browser that the fake does not have: `emit` calls those who listen. */
export function provideEvent(path: string): ProvidedEvent {
  const [namespace = '', name = ''] = path.split('.')
  const target = (fakeBrowser as unknown as Record<string, Record<string, unknown>>)[namespace]
  if (target === undefined) throw new Error(`There is no ${namespace}.`)
  const known = new Set<(...parameters: unknown[]) => void>()
  target[name] = {
    addListener: (listener: (...parameters: unknown[]) => void) => void known.add(listener),
    removeListener: (listener: (...parameters: unknown[]) => void) => void known.delete(listener),
  }
  return {
    emit(...parameters) {
      for (const listener of known) listener(...parameters)
    },
    get listeners() {
      return known.size
    },
  }
}
