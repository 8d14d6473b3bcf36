// A process with two .NET children, each busy for some seconds.
//
//   Spawner [SECONDS]       starts the children with the host that runs itself, prints `ready PID CHILD CHILD` once both
//                           are at work, and waits for them
//   Spawner busy SECONDS    what a child does: prints `busy PID`, then computes on its main thread

using System;
using System.Diagnostics;
using System.Runtime.CompilerServices;

static class Spawner
{
    static long sink;

    static int Main(string[] args)
    {
        if (args.Length > 1 && args[0] == "busy")
        {
            Console.WriteLine("busy " + Process.GetCurrentProcess().Id);
            Console.Out.Flush();
            BeBusy(double.Parse(args[1]));
            return 0;
        }
        string seconds = args.Length > 0 ? args[0] : "5";
        Process first = Start(seconds);
        Process second = Start(seconds);
        first.StandardOutput.ReadLine();
        second.StandardOutput.ReadLine();
        Console.WriteLine("ready " + Process.GetCurrentProcess().Id + " " + first.Id + " " + second.Id);
        Console.Out.Flush();
        first.WaitForExit();
        second.WaitForExit();
        return first.ExitCode + second.ExitCode;
    }

    static Process Start(string seconds)
    {
        string host = Process.GetCurrentProcess().MainModule.FileName;
        // A single-file host runs us by its startup hook and takes no path; `dotnet` wants one.
        bool hooked = !string.IsNullOrEmpty(Environment.GetEnvironmentVariable("STRATA_WORKLOAD"));
        string path = hooked ? "" : "\"" + typeof(Spawner).Assembly.Location + "\" ";
        return Process.Start(new ProcessStartInfo(host, path + "busy " + seconds)
        {
            UseShellExecute = false,
            RedirectStandardOutput = true,
        });
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    static void BeBusy(double seconds)
    {
        var clock = Stopwatch.StartNew();
        while (clock.Elapsed.TotalSeconds < seconds)
        {
            sink += Compute(100000);
        }
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    static long Compute(int rounds)
    {
        long state = 1;
        for (int i = 0; i < rounds; i++)
        {
            state = state * 6364136223846793005 + 1442695040888963407;
        }
        return state;
    }
}
