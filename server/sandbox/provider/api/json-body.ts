import { z } from 'zod'
import { AuthError } from '../auth-error.ts'

/** A string of a body; empty if it is missing. */
export const text: z.ZodType<string> = z
  .string()
  .nullish()
  .transform((value) => value ?? '')

/** A JSON object of a body, if it is there. */
export const object: z.ZodType<Record<string, unknown> | null | undefined> = z
  .record(z.string(), z.unknown())
  .nullish()

/** Reads the members `shape` of a body that must be a JSON object; an empty body is an empty object. Throws `bad_json`. */
export async function readJsonBody<Shape extends z.ZodRawShape>(
  request: Request,
  shape: Shape,
): Promise<z.infer<z.ZodObject<Shape>>> {
  const body = (await request.text()).trim()
  let value: unknown
  try {
    value = body === '' ? {} : JSON.parse(body)
  } catch {
    throw new AuthError(400, 'bad_json', 'Could not parse request body as JSON')
  }
  const { success, data, error } = z.object(shape).safeParse(value)
  if (success) return data
  throw new AuthError(400, 'bad_json', `Could not read request body: ${z.prettifyError(error)}`)
}
