import { setTimeout as sleep } from 'node:timers/promises'
import type { JobResponse } from '#schemas/job.ts'
import type { TestApp } from './helper.ts'

type Job = JobResponse['data']

/** Starts a job as an administrator and waits for its end, because a busy machine may respond before the end. */
export async function runJob ({ app, token }: Pick<TestApp, 'app' | 'token'>, name: string): Promise<Job> {
  const headers = { authorization: `Bearer ${await token({ name: 'capo', role: 'admin' })}` }
  const response = await app.inject({ method: 'POST', url: `/api/v1/jobs/${name}/avvia`, headers })
  if (response.statusCode > 202) throw new Error(response.body)
  let job = response.json<JobResponse>().data
  while (job.in_corso) {
    await sleep(50)
    const all = await app.inject({ url: '/api/v1/jobs', headers })
    job = all.json<{ data: Job[] }>().data.find(({ nome }) => nome === name)!
  }
  return job
}
