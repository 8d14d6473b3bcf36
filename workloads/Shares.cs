// Three kernels on one thread in known shares of its CPU time: A 50 %, B 30 %, C 20 %.
//
//   Shares [SECONDS]      runs for so long; without a number or with 0, until standard input ends. SIGTERM ends it as well
//
// The shares are held by work done: after warming up, the kernel that is furthest behind its share by measured thread CPU
// time gets the next slice. Lines on standard output, all times in nanoseconds, A, B and C cumulative since `ready`:
//
//   ready PID
//   at MONOTONIC A=.. B=.. C=..       every second; MONOTONIC is CLOCK_MONOTONIC
//   truth A=.. B=.. C=.. ns           at the end
//
// Time in qsort and in the comparison that it calls back belongs to C.

using System;
using System.Diagnostics;
using System.Reflection;
using System.Runtime.CompilerServices;
using System.Runtime.InteropServices;
using System.Threading;

static unsafe class Shares
{
    struct Timespec
    {
        public long Seconds;
        public long Nanoseconds;
    }

    const int ClockMonotonic = 1;
    const int ClockThreadCpu = 3;
    const long SliceNanoseconds = 1500000;
    static readonly double[] Target = { 0.5, 0.3, 0.2 };

    [DllImport("libc", EntryPoint = "clock_gettime")]
    static extern int ClockGetTime(int clock, Timespec* time);

    [UnmanagedFunctionPointer(CallingConvention.Cdecl)]
    delegate int Comparison(int* left, int* right);

    [DllImport("libc", EntryPoint = "qsort")]
    static extern void NativeSort(int* items, UIntPtr count, UIntPtr size, Comparison comparison);

    static volatile bool stop;
    static readonly ManualResetEvent finished = new ManualResetEvent(false);
    static long sink;

    static int Main(string[] args)
    {
        double seconds = args.Length > 0 ? double.Parse(args[0]) : 0;
        object registration = StopOnTerminate();
        if (seconds <= 0)
        {
            new Thread(StopAtEndOfInput) { Name = "stdin", IsBackground = true }.Start();
        }
        WarmUp();
        int[] units = Calibrate();
        Console.WriteLine("ready " + Process.GetCurrentProcess().Id);
        Run(units, seconds);
        finished.Set();
        GC.KeepAlive(registration);
        return 0;
    }

    static void Run(int[] units, double seconds)
    {
        var used = new long[3];
        long start = Now(ClockMonotonic);
        long end = seconds > 0 ? start + (long)(seconds * 1e9) : long.MaxValue;
        long nextLine = start;
        while (true)
        {
            long now = Now(ClockMonotonic);
            if (now >= nextLine)
            {
                Console.WriteLine("at " + now + Totals(used));
                nextLine += 1000000000;
            }
            if (stop || now >= end)
            {
                break;
            }
            int kernel = FurthestBehind(used);
            long before = Now(ClockThreadCpu);
            Slice(kernel, units[kernel]);
            used[kernel] += Now(ClockThreadCpu) - before;
        }
        Console.WriteLine("truth" + Totals(used) + " ns");
        Console.Out.Flush();
    }

    static string Totals(long[] used)
    {
        return " A=" + used[0] + " B=" + used[1] + " C=" + used[2];
    }

    static int FurthestBehind(long[] used)
    {
        long total = used[0] + used[1] + used[2];
        int chosen = 0;
        double most = double.NegativeInfinity;
        for (int kernel = 0; kernel < 3; kernel++)
        {
            double behind = Target[kernel] * total - used[kernel];
            if (behind > most)
            {
                most = behind;
                chosen = kernel;
            }
        }
        return chosen;
    }

    static void Slice(int kernel, int units)
    {
        switch (kernel)
        {
            case 0:
                sink += KernelA(units);
                break;
            case 1:
                sink += KernelB(units);
                break;
            default:
                sink += KernelC(units);
                break;
        }
    }

    // Enough calls for every tier, with pauses in which the runtime's compiler thread can put the last one in place.
    static void WarmUp()
    {
        for (int round = 0; round < 8; round++)
        {
            for (int call = 0; call < 40; call++)
            {
                sink += KernelA(20) + KernelB(20) + KernelC(2);
            }
            Thread.Sleep(120);
        }
    }

    // How many units of each kernel make a slice.
    static int[] Calibrate()
    {
        var units = new int[3];
        for (int kernel = 0; kernel < 3; kernel++)
        {
            int tried = 1;
            long took;
            while (true)
            {
                long before = Now(ClockThreadCpu);
                Slice(kernel, tried);
                took = Now(ClockThreadCpu) - before;
                if (took > 10 * SliceNanoseconds)
                {
                    break;
                }
                tried *= 2;
            }
            units[kernel] = (int)Math.Max(1, tried * SliceNanoseconds / took);
        }
        return units;
    }

    static long Now(int clock)
    {
        Timespec time;
        ClockGetTime(clock, &time);
        return time.Seconds * 1000000000 + time.Nanoseconds;
    }

    // A: arithmetic in managed code, nothing called.
    [MethodImpl(MethodImplOptions.NoInlining)]
    public static long KernelA(int units)
    {
        ulong state = 88172645463325252;
        for (int unit = 0; unit < units; unit++)
        {
            for (int i = 0; i < 1000; i++)
            {
                state ^= state << 13;
                state ^= state >> 7;
                state ^= state << 17;
            }
        }
        return (long)state;
    }

    interface IShape
    {
        int Measure(int[] numbers);
    }

    abstract class Shape : IShape
    {
        public int Measure(int[] numbers)
        {
            int sum = 0;
            for (int i = 0; i < numbers.Length; i++)
            {
                sum += Weigh(numbers, i);
            }
            return sum;
        }

        protected abstract int Weigh(int[] numbers, int index);
    }

    sealed class Doubling : Shape
    {
        [MethodImpl(MethodImplOptions.NoInlining)]
        protected override int Weigh(int[] numbers, int index)
        {
            numbers[index] = numbers[index] * 2 + 1;
            return numbers[index];
        }
    }

    sealed class Mixing : Shape
    {
        [MethodImpl(MethodImplOptions.NoInlining)]
        protected override int Weigh(int[] numbers, int index)
        {
            numbers[index] ^= numbers[numbers.Length - 1 - index] >> 3;
            return numbers[index];
        }
    }

    static readonly IShape[] Shapes = { new Doubling(), new Mixing() };
    static readonly int[] Numbers = new int[500];

    // B: interface and virtual calls over an array.
    [MethodImpl(MethodImplOptions.NoInlining)]
    public static long KernelB(int units)
    {
        long sum = 0;
        for (int unit = 0; unit < units; unit++)
        {
            sum += Shapes[unit & 1].Measure(Numbers);
        }
        return sum;
    }

    static readonly Comparison ByValue = Compare;
    static readonly int[] Items = new int[256];

    static int Compare(int* left, int* right)
    {
        return *left < *right ? -1 : *left > *right ? 1 : 0;
    }

    // C: the C library's qsort, which calls back into managed code.
    [MethodImpl(MethodImplOptions.NoInlining)]
    public static long KernelC(int units)
    {
        uint state = 2463534242;
        long sum = 0;
        fixed (int* items = Items)
        {
            for (int unit = 0; unit < units; unit++)
            {
                for (int i = 0; i < Items.Length; i++)
                {
                    state ^= state << 13;
                    state ^= state >> 17;
                    state ^= state << 5;
                    items[i] = (int)state;
                }
                NativeSort(items, (UIntPtr)Items.Length, (UIntPtr)sizeof(int), ByValue);
                sum += items[0];
            }
        }
        return sum;
    }

    static void StopAtEndOfInput()
    {
        while (Console.In.Read() >= 0)
        {
        }
        stop = true;
    }

    // From .NET 6 on a program registers for the signal, and from 10 on it must: the type is younger than what we compile
    // against. Before, the runtime raised ProcessExit and waited for it.
    static object StopOnTerminate()
    {
        Type register = Type.GetType(
            "System.Runtime.InteropServices.PosixSignalRegistration, System.Runtime.InteropServices", false);
        if (register == null)
        {
            AppDomain.CurrentDomain.ProcessExit += (sender, arguments) =>
            {
                stop = true;
                finished.WaitOne();
            };
            return null;
        }
        MethodInfo create = register.GetMethod("Create");
        ParameterInfo[] parameters = create.GetParameters();
        MethodInfo handler = typeof(Shares).GetMethod("OnTerminate", BindingFlags.Static | BindingFlags.NonPublic);
        return create.Invoke(null, new object[]
        {
            Enum.Parse(parameters[0].ParameterType, "SIGTERM"),
            Delegate.CreateDelegate(parameters[1].ParameterType, handler),
        });
    }

    static void OnTerminate(object context)
    {
        // Cancelled: the program ends by itself, after its last line.
        context.GetType().GetProperty("Cancel").SetValue(context, true, null);
        stop = true;
    }
}
