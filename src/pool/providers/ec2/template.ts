import { createHash } from 'node:crypto';

import type { EC2Client, RequestLaunchTemplateData } from '@aws-sdk/client-ec2';

import { codeOf } from './faults.ts';
import type { Ec2Sdk } from './sdk.ts';
import type { Ec2Parameters, Ec2Settings, Ec2Template } from './settings.ts';

const ABSENT = 'InvalidLaunchTemplateName.NotFoundException';
const PRESENT = 'InvalidLaunchTemplateName.AlreadyExistsException';

/** The template of a pool whose operator gave parameters instead of one. */
export function ownTemplate({ pool }: Ec2Settings): Ec2Template {
  return { id: `heddle-${pool}`, version: '$Latest' };
}

/**
 * Makes the template of this pool say what its parameters say, with a new version where they changed.
 *
 * @returns a line for what it did; null where all was as it should be
 */
export async function bringUpToDate(
  sdk: Ec2Sdk,
  client: EC2Client,
  settings: Ec2Settings,
  parameters: Ec2Parameters,
): Promise<string | null> {
  const { id: name } = ownTemplate(settings);
  const data = dataOf(parameters);
  const description = `heddle ${createHash('sha256').update(JSON.stringify(data)).digest('hex')}`;
  const known = await latestDescription(sdk, client, name);
  if (known === description) return null;
  const content = { LaunchTemplateName: name, VersionDescription: description, LaunchTemplateData: data };
  if (known === null) {
    try {
      await client.send(new sdk.CreateLaunchTemplateCommand(content));
      return `launch template ${name} made`;
    } catch (error) {
      // Another server was faster; what it made may be of other parameters.
      if (codeOf(error) !== PRESENT) throw error;
    }
  }
  await client.send(new sdk.CreateLaunchTemplateVersionCommand(content));
  return `launch template ${name} changed`;
}

async function latestDescription(sdk: Ec2Sdk, client: EC2Client, name: string): Promise<string | null> {
  try {
    const answer = await client.send(
      new sdk.DescribeLaunchTemplateVersionsCommand({ LaunchTemplateName: name, Versions: ['$Latest'] }),
    );
    return answer.LaunchTemplateVersions?.[0]?.VersionDescription ?? '';
  } catch (error) {
    if (codeOf(error) === ABSENT) return null;
    throw error;
  }
}

/** Instances read their own tags, since an agent learns by them which launch it is of; one that shuts down is gone. */
function dataOf({
  image_id,
  security_group_ids,
  instance_profile,
  key_name,
  user_data,
}: Ec2Parameters): RequestLaunchTemplateData {
  return {
    ImageId: image_id,
    UserData: Buffer.from(user_data).toString('base64'),
    InstanceInitiatedShutdownBehavior: 'terminate',
    MetadataOptions: { HttpTokens: 'required', HttpPutResponseHopLimit: 2, InstanceMetadataTags: 'enabled' },
    ...(security_group_ids.length > 0 ? { SecurityGroupIds: [...security_group_ids] } : {}),
    ...(key_name === null ? {} : { KeyName: key_name }),
    ...(instance_profile === null ? {} : { IamInstanceProfile: profileOf(instance_profile) }),
  };
}

function profileOf(profile: string): { Arn: string } | { Name: string } {
  return profile.startsWith('arn:') ? { Arn: profile } : { Name: profile };
}
