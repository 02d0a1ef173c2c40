import * as kind from './setting.ts';

const TYPE = /^([a-z0-9][a-z0-9._-]{0,62})=([a-z0-9][a-z0-9.-]{1,62})$/;
const VARIABLE = /^[A-Za-z_][A-Za-z0-9_]*=/;

function named(name: string, fallback: string, description: string): kind.Setting<string> {
  return kind.text({ name, fallback, description, ...(fallback === '' ? { fallbackText: '-' } : {}) });
}

/** Settings of the provider `ec2`. Credentials come from the default chain of the AWS SDK. */
export const POOL_EC2_SETTING_GROUPS = {
  'Runner pool: EC2': {
    ec2Region: named('HEDDLE_POOL_EC2_REGION', '', 'Region, such as eu-central-1; required with `ec2`'),
    ec2Endpoint: kind.address({
      name: 'HEDDLE_POOL_EC2_ENDPOINT',
      fallback: null,
      fallbackText: 'AWS',
      schemes: ['http', 'https'],
      description: 'Endpoint of the EC2 API',
    }),
    ec2Pool: kind.checkedText({
      name: 'HEDDLE_POOL_EC2_POOL',
      fallback: 'heddle',
      allowed: '1 to 100 of A-Z a-z 0-9 . _ -',
      check: (given) => /^[A-Za-z0-9._-]{1,100}$/.test(given),
      description: 'Name of this pool, unique in the account; every instance is tagged with it',
    }),
    ec2Template: named(
      'HEDDLE_POOL_EC2_TEMPLATE',
      '',
      'ID or name of an existing launch template, with `:VERSION` for a version other than the default',
    ),
    ec2Image: named(
      'HEDDLE_POOL_EC2_IMAGE',
      '',
      'Image with `heddle` installed; a launch template is created from it and the settings below',
    ),
    ec2SecurityGroups: kind.list({
      name: 'HEDDLE_POOL_EC2_SECURITY_GROUPS',
      fallback: [],
      fallbackText: '-',
      description: 'IDs of security groups, comma-separated',
    }),
    ec2Subnets: kind.list({
      name: 'HEDDLE_POOL_EC2_SUBNETS',
      fallback: [],
      fallbackText: 'subnet of the template',
      description: 'IDs of subnets, comma-separated; EC2 picks the cheapest with capacity',
    }),
    ec2InstanceTypes: kind.list({
      name: 'HEDDLE_POOL_EC2_INSTANCE_TYPES',
      fallback: [],
      fallbackText: 'chosen by EC2',
      allowed: 'a comma-separated list of CLASS=TYPE such as large=m7i.large',
      item: (given) => (TYPE.test(given) ? given : null),
      description: 'Instance types of classes, in order of preference: `large=m7i.large,large=m6i.large`',
    }),
    ec2InstanceProfile: named('HEDDLE_POOL_EC2_INSTANCE_PROFILE', '', 'Name or ARN of an instance profile'),
    ec2KeyName: named('HEDDLE_POOL_EC2_KEY_NAME', '', 'Name of a key pair'),
    ec2Environment: kind.list({
      name: 'HEDDLE_POOL_EC2_ENVIRONMENT',
      fallback: [],
      fallbackText: '-',
      allowed: 'a comma-separated list of NAME=VALUE',
      item: (given) => (VARIABLE.test(given) ? given : null),
      secret: true,
      description:
        'Environment variables of runners: `HEDDLE_URL=…,HEDDLE_TOKEN=…`; anyone who may read the launch template can read them',
    }),
    ec2UserData: named(
      'HEDDLE_POOL_EC2_USER_DATA',
      '',
      'File with the startup script of an instance; by default it runs `heddle worker --runner ec2` and then shuts down',
    ),
  },
} as const;
