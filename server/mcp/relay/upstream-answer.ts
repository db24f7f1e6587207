import type { Dispatcher } from 'undici'

/** The media type of an answer, without parameters. */
export function mediaType(response: Dispatcher.ResponseData): string | undefined {
  return headerOf(response, 'content-type')?.split(';')[0]?.trim().toLowerCase()
}

/** The first value of a header of an answer. */
export function headerOf({ headers }: Dispatcher.ResponseData, name: string): string | undefined {
  const value = headers[name]
  return Array.isArray(value) ? value[0] : value
}

/** Reads and forgets a little, and gives the connection up if there is more. */
export async function discard(body: Dispatcher.ResponseData['body']): Promise<undefined> {
  if (!body.destroyed) await body.dump({ limit: 65_536 }).catch(() => {})
}
